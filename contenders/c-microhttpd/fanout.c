/* The gateway: libmicrohttpd, with a thread for each connection, and libcurl. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pieces.h"
#include "settings.h"

#define BACKLOG 4096
#define MOST_CONNECTIONS 8192
#define STACK_BYTES (256 * 1024)
#define BUFFER_BYTES 1024

static struct gateway gateway;

struct answer {
    struct calls *calls;
    struct sums *sums;
};

static ssize_t next_piece(void *argument, uint64_t position, char *bytes, size_t size)
{
    (void)position;
    struct answer *answer = argument;
    size_t filled =
        answer->calls != NULL ? calls_next(answer->calls, bytes, size) : sums_next(answer->sums, bytes, size);
    return filled > 0 ? (ssize_t)filled : MHD_CONTENT_READER_END_OF_STREAM;
}

static void end_answer(void *argument)
{
    struct answer *answer = argument;
    if (answer->calls != NULL)
        calls_end(answer->calls);
    if (answer->sums != NULL)
        sums_end(answer->sums);
    free(answer);
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result refuse_request(struct MHD_Connection *connection, unsigned status)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (response != NULL && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
    return reply(connection, status, response);
}

static enum MHD_Result fan_out(struct MHD_Connection *connection)
{
    struct answer *answer = calloc(1, sizeof *answer);
    if (answer == NULL)
        return MHD_NO;
    if (gateway.calls)
        answer->calls = calls_start(
            &gateway, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Request-Id"));
    else
        answer->sums = sums_start(&gateway);
    struct MHD_Response *response = NULL;
    if (answer->calls != NULL || answer->sums != NULL)
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BUFFER_BYTES, next_piece, answer, end_answer);
    if (response == NULL) {
        end_answer(answer);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
    return reply(connection, MHD_HTTP_OK, response);
}

/* libmicrohttpd calls this when a request's head is there, and again for its body, which nobody wants. */
static enum MHD_Result handle(void *unused, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *body, size_t *body_bytes, void **state)
{
    (void)unused, (void)version, (void)body;
    static char seen;
    if (*state == NULL) {
        *state = &seen;
        return MHD_YES;
    }
    if (*body_bytes > 0) {
        *body_bytes = 0;
        return MHD_YES;
    }
    if (strcmp(path, "/") != 0)
        return refuse_request(connection, MHD_HTTP_NOT_FOUND);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return refuse_request(connection, MHD_HTTP_METHOD_NOT_ALLOWED);
    return fan_out(connection);
}

static void end(int signal)
{
    (void)signal;
    _exit(0);
}

static void read_settings(void)
{
    static const char *const kinds[] = {"io", "cpu", "mixed", NULL};
    int kind = settings_needed("kind", kinds);
    gateway.calls = kind != 1;
    gateway.sums = kind != 0;
    gateway.tick_ns = settings_whole_number_or("tick_ms", 1, MOST, 50) * 1000000;
    gateway.timeout_ms = settings_whole_number_or("timeout_ms", 1, MOST, 5000);
    gateway.work = settings_whole_number_or("work", 1, MOST, 100000);
    if (!gateway.calls)
        return;
    const char *text = settings_text("upstreams");
    char *rest = strdup(text != NULL ? text : ""), *url;
    int count = 0;
    while ((url = strsep(&rest, ",")) != NULL) {
        int port = 0, end_of_port = 0;
        if (sscanf(url, "http://127.0.0.1:%5d%n", &port, &end_of_port) != 1 || port < 1 || port > 65535 ||
            (url[end_of_port] != '/' && url[end_of_port] != '\0') || strpbrk(url, " \t\r\n") || count == CALLS)
            break;
        gateway.urls[count++] = url;
    }
    if (url != NULL || count != CALLS)
        refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them");
}

int main(int count, char **arguments)
{
    settings_read(count, arguments);
    uint16_t port = (uint16_t)settings_whole_number_or("port", 0, 65535, 0);
    settings_whole_number_or("cores", 1, 1024, 1); /* The kernel spreads the threads. */
    read_settings();
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, end);
    curl_global_init(CURL_GLOBAL_NOTHING);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    const char *host = settings_text("host");
    if (inet_pton(AF_INET, host == NULL ? "127.0.0.1" : host, &address.sin_addr) != 1)
        refuse("host", "an IPv4 address");
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, port, NULL, NULL, handle, NULL,
                         MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG,
                         MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)MOST_CONNECTIONS, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_END);
    if (daemon == NULL)
        refuse("port", "one that is free");
    report("::ready port=%d", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    char bytes[4096];
    while (read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
    }
    _exit(0);
}
