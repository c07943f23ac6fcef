/* What a gateway answers with, piece by piece. */
#ifndef PIECES_H
#define PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLS 3
/* Of one piece: a status, a colon, a sum, a newline. */
#define LONGEST_PIECE 32

struct gateway {
    bool calls, sums;
    char *urls[CALLS];
    int64_t tick_ns, timeout_ms, work;
};

/* The sum of 1 … work-1. */
int64_t sum(int64_t work);

/* Calls to the three upstreams by libcurl. `id` may be NULL. NULL: no memory. */
struct calls *calls_start(const struct gateway *gateway, const char *id);
/* Waits for the next piece: what has come of answers, or a dot. The size; 0 where all have been had. */
size_t calls_next(struct calls *calls, char *pieces, size_t size);
void calls_end(struct calls *calls);

/* Three threads that sum. */
struct sums *sums_start(const struct gateway *gateway);
size_t sums_next(struct sums *sums, char *pieces, size_t size);
void sums_end(struct sums *sums);

#endif
