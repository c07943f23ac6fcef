/* A bounded queue of pointer-sized values, of a mutex and two condition variables: the textbook's. */
#ifndef QUEUE_H
#define QUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    size_t places, first, count;
    int64_t *values;
};

void queue_init(struct queue *queue, size_t places);
/* A queue between processes: it and its values are in memory that they share. It needs no end. */
void queue_init_shared(struct queue *queue, size_t places, int64_t *values);
void queue_destroy(struct queue *queue);
void queue_put(struct queue *queue, int64_t value);
int64_t queue_get(struct queue *queue);

#endif
