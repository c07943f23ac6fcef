/* kind=cpu: three threads, each with one sum. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "pieces.h"
#include "settings.h"

struct sums {
    pthread_mutex_t lock;
    pthread_cond_t done;
    int64_t work, ready[CALLS];
    int count, taken, started;
    pthread_t threads[CALLS];
};

int64_t sum(int64_t work)
{
    int64_t total = 0;
    for (int64_t i = 1; i < work; ++i) {
        total += i;
        /* The compiler must not replace the loop by a formula. */
        __asm__ volatile("" : "+r"(total));
    }
    return total;
}

static void *compute(void *argument)
{
    struct sums *sums = argument;
    int64_t total = sum(sums->work);
    pthread_mutex_lock(&sums->lock);
    sums->ready[sums->count++] = total;
    pthread_cond_signal(&sums->done);
    pthread_mutex_unlock(&sums->lock);
    return NULL;
}

struct sums *sums_start(const struct gateway *gateway)
{
    struct sums *sums = calloc(1, sizeof *sums);
    if (sums == NULL)
        return NULL;
    pthread_mutex_init(&sums->lock, NULL);
    pthread_cond_init(&sums->done, NULL);
    sums->work = gateway->work;
    for (; sums->started < CALLS; ++sums->started)
        if (pthread_create(&sums->threads[sums->started], NULL, compute, sums) != 0) {
            sums_end(sums);
            return NULL;
        }
    return sums;
}

size_t sums_next(struct sums *sums, char *pieces, size_t size)
{
    if (sums->taken == CALLS)
        return 0;
    pthread_mutex_lock(&sums->lock);
    while (sums->count == sums->taken)
        pthread_cond_wait(&sums->done, &sums->lock);
    int64_t total = sums->ready[sums->taken++];
    pthread_mutex_unlock(&sums->lock);
    return (size_t)snprintf(pieces, size, "%" PRId64 "\n", total);
}

/* Also where the client has gone: the threads use what is freed here. */
void sums_end(struct sums *sums)
{
    while (sums->started > 0)
        pthread_join(sums->threads[--sums->started], NULL);
    pthread_cond_destroy(&sums->done);
    pthread_mutex_destroy(&sums->lock);
    free(sums);
}
