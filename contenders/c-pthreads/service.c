#include "service.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "settings.h"
#include "threads.h"

#define BACKLOG 4096
/* Until it accepts again, where no descriptor is free. */
#define PAUSE_US 10000

static void (*serve_client)(int client);

static void end(int signal)
{
    (void)signal;
    _exit(0);
}

static void *watch_stdin(void *unused)
{
    (void)unused;
    char bytes[4096];
    while (read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
    }
    _exit(0);
}

static void *serve_one(void *argument)
{
    int client = (int)(intptr_t)argument;
    serve_client(client);
    close(client);
    return NULL;
}

static int listener_on(uint16_t port, struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    const char *host = settings_text("host");
    if (inet_pton(AF_INET, host == NULL ? "127.0.0.1" : host, &address->sin_addr) != 1)
        refuse("host", "an IPv4 address");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)address, length) != 0 || listen(listener, BACKLOG) != 0)
        refuse("port", "one that is free");
    getsockname(listener, (struct sockaddr *)address, &length);
    return listener;
}

void service_run(void (*serve)(int client))
{
    uint16_t port = (uint16_t)settings_whole_number_or("port", 0, 65535, 0);
    settings_whole_number_or("cores", 1, 1024, 1); /* The kernel spreads the threads. */
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    struct sockaddr_in address;
    int listener = listener_on(port, &address), on = 1;
    serve_client = serve;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, end);
    pthread_t thread;
    thread_start(&thread, watch_stdin, NULL);
    report("::ready port=%d", ntohs(address.sin_port));
    for (;;) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0) {
            usleep(PAUSE_US);
            continue;
        }
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (thread_try(&thread, serve_one, (void *)(intptr_t)client))
            pthread_detach(thread);
        else
            close(client);
    }
}
