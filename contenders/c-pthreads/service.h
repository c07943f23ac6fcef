/* How a server begins and ends. */
#ifndef SERVICE_H
#define SERVICE_H

/* Listens on 127.0.0.1, says so, and calls `serve` with the socket of each connection in a thread of its own, which
 * closes it afterwards. SIGTERM and the end of stdin end the program with status 0, whatever is in progress. */
_Noreturn void service_run(void (*serve)(int client));

#endif
