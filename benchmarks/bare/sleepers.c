/* N threads that sleep until an instant in the last of S seconds, each its own, and hand their number to the
 * main one. PROGRAM N S prints the sum of their numbers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static long handed_over, is_full;

struct task {
    long number;
    struct timespec instant;
};

static void *sleeper(void *argument)
{
    struct task *task = argument;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &task->instant, NULL);
    pthread_mutex_lock(&lock);
    while (is_full)
        pthread_cond_wait(&emptied, &lock);
    handed_over = task->number;
    is_full = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int count, char **words)
{
    long n = count > 2 ? atol(words[1]) : 1, seconds = count > 2 ? atol(words[2]) : 2, sum = 0;
    struct task *tasks = calloc(n, sizeof *tasks);
    struct timespec begun;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&small, 256 * 1024);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (long i = 0; i < n; i++) {
        long ns = begun.tv_nsec + rand() % 1000000000L;
        pthread_t thread;
        tasks[i] = (struct task){i, {begun.tv_sec + seconds - 1 + ns / 1000000000L, ns % 1000000000L}};
        if (pthread_create(&thread, &small, sleeper, &tasks[i]) != 0)
            return 1;
    }
    for (long i = 0; i < n; i++) {
        pthread_mutex_lock(&lock);
        while (!is_full)
            pthread_cond_wait(&filled, &lock);
        sum += handed_over;
        is_full = 0;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&lock);
    }
    printf("%ld\n", sum);
    return 0;
}
