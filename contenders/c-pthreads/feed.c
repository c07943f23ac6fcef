/* The feed: a thread for each connection, which reads a request by hand, sleeps in poll() and sends. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#include "service.h"
#include "settings.h"
#include "sockets.h"

#define MOST_HEAD_BYTES 8192
#define LONGEST_ID 20
#define SECOND_NS INT64_C(1000000000)

static int64_t interval_ns;

/* Reads a request's head. False: there is none. */
static bool read_head(int client, char head[MOST_HEAD_BYTES + 1])
{
    size_t filled = 0;
    while (filled < MOST_HEAD_BYTES) {
        ssize_t received = recv(client, head + filled, MOST_HEAD_BYTES - filled, 0);
        if (received <= 0)
            return false;
        filled += (size_t)received;
        head[filled] = '\0';
        if (memmem(head, filled, "\r\n\r\n", 4) != NULL)
            return true;
    }
    return false;
}

/* The answer to a request that is not for a feed; NULL where it is for one, whose id is then known. */
static const char *route(char *head, char id[LONGEST_ID + 1])
{
    char *line_end = strstr(head, "\r\n"), *rest = NULL;
    if (line_end == NULL) /* A zero byte. */
        return "400 Bad Request\r\n";
    *line_end = '\0';
    char *method = strtok_r(head, " ", &rest), *target = strtok_r(NULL, " ", &rest), *version = rest;
    if (method == NULL || target == NULL || version == NULL || strcmp(version, "HTTP/1.1") != 0)
        return "400 Bad Request\r\n";
    target[strcspn(target, "?")] = '\0';
    if (strncmp(target, "/test/", 6) != 0)
        return "404 Not Found\r\n";
    size_t digits = strspn(target + 6, "0123456789");
    if (digits == 0 || digits > LONGEST_ID || target[6 + digits] != '\0')
        return "404 Not Found\r\n";
    if (strcmp(method, "GET") != 0)
        return "405 Method Not Allowed\r\nAllow: GET\r\n";
    memcpy(id, target + 6, digits + 1);
    return NULL;
}

/* Waits until an instant of the monotonic clock. False: the client has closed. */
static bool sleep_until(int client, int64_t due_ns)
{
    for (int64_t left_ns; (left_ns = due_ns - clock_ns()) > 0;) {
        struct pollfd input = {.fd = client, .events = POLLIN};
        struct timespec left = {left_ns / SECOND_NS, left_ns % SECOND_NS};
        char bytes[1024];
        /* There is nothing to ask for any more. */
        if (ppoll(&input, 1, &left, NULL) > 0 && recv(client, bytes, sizeof bytes, 0) <= 0)
            return false;
    }
    return true;
}

static bool send_chunk(int client, const char *head, const char *message, int length)
{
    char text[256];
    int size = snprintf(text, sizeof text, "%s%x\r\n%s\r\n", head, length, message);
    return send_all(client, text, (size_t)size);
}

static void feed(int client, const char *id)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
    char message[64];
    int length = snprintf(message, sizeof message, "Welcome: %s\n", id);
    bool open = send_chunk(client, head, message, length);
    int64_t begin_ns = clock_ns();
    for (int64_t k = 1; open && sleep_until(client, begin_ns + k * interval_ns); k++) {
        length = snprintf(message, sizeof message, "Chunk %" PRId64 " for %s\n", k, id);
        open = send_chunk(client, "", message, length);
    }
}

/* The id of the feed that a client asks for. The head is in this function's frame, which ends with it. */
static __attribute__((noinline)) bool asks_for_feed(int client, char id[LONGEST_ID + 1])
{
    char head[MOST_HEAD_BYTES + 1], answer[256];
    if (!read_head(client, head))
        return false;
    const char *refusal = route(head, id);
    if (refusal == NULL)
        return true;
    int size = snprintf(answer, sizeof answer, "HTTP/1.1 %sContent-Length: 0\r\nConnection: close\r\n\r\n", refusal);
    if (send_all(client, answer, (size_t)size))
        hang_up(client);
    return false;
}

static void converse(int client)
{
    char id[LONGEST_ID + 1];
    if (asks_for_feed(client, id))
        feed(client, id);
}

int main(int count, char **arguments)
{
    settings_read(count, arguments);
    interval_ns = 1000000 * settings_whole_number_or("interval_ms", 1, 3600000, 1000);
    service_run(converse);
}
