#include "threads.h"

#include "settings.h"

#define STACK_BYTES (256 * 1024)

bool thread_try(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    bool started = pthread_create(thread, &attributes, body, argument) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

void thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    if (!thread_try(thread, body, argument))
        give_up(1, "no more threads can be started");
}
