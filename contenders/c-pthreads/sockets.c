#include "sockets.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>

#include "settings.h"

#define GRACE_NS INT64_C(1000000000)

bool send_all(int client, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(client, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

void hang_up(int client)
{
    struct timeval grace = {1, 0};
    int64_t until = clock_ns() + GRACE_NS;
    char bytes[4096];
    shutdown(client, SHUT_WR);
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &grace, sizeof grace);
    while (recv(client, bytes, sizeof bytes, 0) > 0 && clock_ns() < until) {
    }
}
