/* Threads with small stacks. */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Whether a thread could be started. Its stack has 256 KiB of address space, not 8 MiB. */
bool thread_try(pthread_t *thread, void *(*body)(void *), void *argument);

/* The same; ends the program where no thread can be had. */
void thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

#endif
