/* Blocking sockets. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <stdbool.h>
#include <stddef.h>

/* Sends all of it. False: the client went away. */
bool send_all(int client, const char *bytes, size_t length);

/* Sends what is left to send and waits, a second at most, until the client has read it and closed: closing with bytes
 * unread would reset the connection. */
void hang_up(int client);

#endif
