#include "queue.h"

#include <stdlib.h>

#include "settings.h"

void queue_init(struct queue *queue, size_t places)
{
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    queue->places = places;
    queue->first = queue->count = 0;
    queue->values = allocate(places * sizeof *queue->values);
}

void queue_init_shared(struct queue *queue, size_t places, int64_t *values)
{
    pthread_mutexattr_t of_mutex;
    pthread_mutexattr_init(&of_mutex);
    pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&queue->mutex, &of_mutex);
    pthread_mutexattr_destroy(&of_mutex);
    pthread_condattr_t of_condition;
    pthread_condattr_init(&of_condition);
    pthread_condattr_setpshared(&of_condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&queue->not_empty, &of_condition);
    pthread_cond_init(&queue->not_full, &of_condition);
    pthread_condattr_destroy(&of_condition);
    queue->places = places;
    queue->first = queue->count = 0;
    queue->values = values;
}

void queue_destroy(struct queue *queue)
{
    pthread_mutex_destroy(&queue->mutex);
    pthread_cond_destroy(&queue->not_empty);
    pthread_cond_destroy(&queue->not_full);
    free(queue->values);
}

void queue_put(struct queue *queue, int64_t value)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == queue->places)
        pthread_cond_wait(&queue->not_full, &queue->mutex);
    queue->values[(queue->first + queue->count++) % queue->places] = value;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->mutex);
}

int64_t queue_get(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == 0)
        pthread_cond_wait(&queue->not_empty, &queue->mutex);
    int64_t value = queue->values[queue->first];
    queue->first = (queue->first + 1) % queue->places;
    queue->count--;
    pthread_cond_signal(&queue->not_full);
    pthread_mutex_unlock(&queue->mutex);
    return value;
}
