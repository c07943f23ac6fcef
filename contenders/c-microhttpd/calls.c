/* kind=io and kind=mixed: the calls of a request, by one multi handle of libcurl, which the connection's thread waits
 * for. The thread keeps the handles, and with them the connections to the upstreams, for its next request. */
#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pieces.h"
#include "settings.h"

#define BAD_UPSTREAM 400
#define MS_NS INT64_C(1000000)

struct call {
    CURL *easy;
    /* libcurl takes half a head for a whole one. */
    bool is_whole;
};

struct calls {
    const struct gateway *gateway;
    CURLM *multi;
    struct call call[CALLS];
    struct curl_slist *headers;
    int missing;
    int64_t written_ns;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t kept;

static void release(void *argument)
{
    struct calls *calls = argument;
    for (int i = 0; i < CALLS; ++i)
        if (calls->call[i].easy != NULL)
            curl_easy_cleanup(calls->call[i].easy);
    curl_multi_cleanup(calls->multi);
    free(calls);
}

static void make_key(void) { pthread_key_create(&kept, release); }

static size_t drop(char *bytes, size_t size, size_t count, void *unused)
{
    (void)bytes, (void)unused;
    return size * count;
}

static size_t see_header(char *line, size_t size, size_t count, void *argument)
{
    struct call *call = argument;
    if (size * count > 4 && memcmp(line, "HTTP", 4) == 0)
        call->is_whole = false;
    if (line[0] == '\r' || line[0] == '\n')
        call->is_whole = true;
    return size * count;
}

/* The handles of this thread. */
static struct calls *handles(const struct gateway *gateway)
{
    pthread_once(&once, make_key);
    struct calls *calls = pthread_getspecific(kept);
    if (calls != NULL)
        return calls;
    calls = calloc(1, sizeof *calls);
    if (calls == NULL || (calls->multi = curl_multi_init()) == NULL) {
        free(calls);
        return NULL;
    }
    for (int i = 0; i < CALLS; ++i) {
        CURL *call = calls->call[i].easy = curl_easy_init();
        if (call == NULL) {
            release(calls);
            return NULL;
        }
        curl_easy_setopt(call, CURLOPT_URL, gateway->urls[i]);
        curl_easy_setopt(call, CURLOPT_WRITEFUNCTION, drop);
        curl_easy_setopt(call, CURLOPT_HEADERFUNCTION, see_header);
        curl_easy_setopt(call, CURLOPT_HEADERDATA, &calls->call[i]);
        curl_easy_setopt(call, CURLOPT_PRIVATE, &calls->call[i]);
        curl_easy_setopt(call, CURLOPT_TIMEOUT_MS, (long)gateway->timeout_ms);
        curl_easy_setopt(call, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(call, CURLOPT_PROXY, "");
    }
    calls->gateway = gateway;
    pthread_setspecific(kept, calls);
    return calls;
}

struct calls *calls_start(const struct gateway *gateway, const char *id)
{
    struct calls *calls = handles(gateway);
    if (calls == NULL)
        return NULL;
    if (id != NULL) {
        size_t size = strlen(id) + sizeof "X-Request-Id: ";
        char *header = malloc(size);
        if (header != NULL) {
            snprintf(header, size, "X-Request-Id: %s", id);
            calls->headers = curl_slist_append(NULL, header);
            free(header);
        }
    }
    for (int i = 0; i < CALLS; ++i) {
        curl_easy_setopt(calls->call[i].easy, CURLOPT_HTTPHEADER, calls->headers);
        curl_multi_add_handle(calls->multi, calls->call[i].easy);
    }
    calls->missing = CALLS;
    calls->written_ns = clock_ns();
    int running;
    curl_multi_perform(calls->multi, &running);
    return calls;
}

/* What has come since: the pieces of calls that are done. */
static size_t collect(struct calls *calls, char *pieces, size_t size)
{
    size_t filled = 0;
    CURLMsg *message;
    int left;
    while (filled + LONGEST_PIECE < size && (message = curl_multi_info_read(calls->multi, &left)) != NULL) {
        long status = BAD_UPSTREAM;
        if (message->msg != CURLMSG_DONE)
            continue;
        struct call *call = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        if (message->data.result == CURLE_OK && call->is_whole)
            curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        curl_multi_remove_handle(calls->multi, message->easy_handle);
        --calls->missing;
        filled += (size_t)snprintf(pieces + filled, size - filled, "%03ld", status);
        if (calls->gateway->sums)
            filled += (size_t)snprintf(pieces + filled, size - filled, ":%" PRId64 "\n", sum(calls->gateway->work));
    }
    return filled;
}

size_t calls_next(struct calls *calls, char *pieces, size_t size)
{
    size_t filled = 0;
    while (calls->missing > 0 && (filled = collect(calls, pieces, size)) == 0) {
        int64_t left_ns = calls->written_ns + calls->gateway->tick_ns - clock_ns();
        int running;
        if (left_ns <= 0) {
            pieces[filled++] = '.';
            break;
        }
        curl_multi_poll(calls->multi, NULL, 0, (int)((left_ns + MS_NS - 1) / MS_NS), NULL);
        curl_multi_perform(calls->multi, &running);
    }
    calls->written_ns = clock_ns();
    return filled;
}

/* Also where the client has gone: calls that are under way are abandoned. */
void calls_end(struct calls *calls)
{
    for (int i = 0; i < CALLS; ++i)
        curl_multi_remove_handle(calls->multi, calls->call[i].easy);
    curl_slist_free_all(calls->headers);
    calls->headers = NULL;
}
