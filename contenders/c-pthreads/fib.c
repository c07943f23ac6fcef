/* The fibonacci service: a thread for each connection. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "service.h"
#include "settings.h"
#include "sockets.h"

/* Bytes of a line, its newline included. */
#define LONGEST 100

static int64_t fib(int64_t n)
{
    return n <= 2 ? 1 : fib(n - 1) + fib(n - 2);
}

/* The number of a line, 0 where there is none from 1 to 90. */
static int64_t number_of(const char *line, size_t length)
{
    int64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (line[i] < '0' || line[i] > '9')
            return 0;
        number = 10 * number + (line[i] - '0');
        if (number > 90)
            return 0;
    }
    return number;
}

static bool answer(int client, const char *line, size_t length)
{
    char text[64];
    int64_t n = number_of(line, length);
    int size = n > 0 ? snprintf(text, sizeof text, "%" PRId64 "\n", fib(n))
                     : snprintf(text, sizeof text, "error: n must be a whole number from 1 to 90\n");
    return send_all(client, text, (size_t)size);
}

/* Answers one client's requests until it closes. */
static void converse(int client)
{
    char buffer[LONGEST];
    size_t filled = 0;
    for (;;) {
        ssize_t received = recv(client, buffer + filled, LONGEST - filled, 0);
        if (received <= 0)
            return;
        filled += (size_t)received;
        char *line = buffer;
        for (char *end; (end = memchr(line, '\n', filled)) != NULL; line = end + 1) {
            if (!answer(client, line, (size_t)(end - line)))
                return;
            filled -= (size_t)(end + 1 - line);
        }
        memmove(buffer, line, filled);
        if (filled == LONGEST) {
            static const char refusal[] = "error: a line may have 100 bytes\n";
            if (send_all(client, refusal, sizeof refusal - 1))
                hang_up(client);
            return;
        }
    }
}

int main(int count, char **arguments)
{
    settings_read(count, arguments);
    service_run(converse);
}
