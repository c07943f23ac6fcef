/* The sleepers: a thread for each, and a bounded queue to the main thread, which collects. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "queue.h"
#include "settings.h"
#include "threads.h"

#define MODULUS INT64_C(2147483647)
#define FACTOR INT64_C(48271)
#define SECOND_NS INT64_C(1000000000)
#define REPORTS 10
#define PLACES 100

struct task {
    int64_t number, instant_ns, late_ns;
};

static struct task *tasks;
static sem_t started;
/* The places in `tasks` of those that woke. */
static struct queue awake;

static void *sleeper(void *argument)
{
    struct task *task = argument;
    struct timespec instant = {task->instant_ns / SECOND_NS, task->instant_ns % SECOND_NS};
    sem_post(&started);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &instant, NULL) == EINTR) {
    }
    task->late_ns = clock_ns() - task->instant_ns;
    queue_put(&awake, task - tasks);
    return NULL;
}

static int ascending(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void collect(int64_t count, int64_t begin)
{
    int64_t *numbers = allocate((size_t)count * sizeof *numbers), *late = allocate((size_t)count * sizeof *late);
    int64_t reports = count < REPORTS ? count : REPORTS, sum = 0, order = 0;
    for (int64_t i = 0; i < count; i++) {
        struct task *task = &tasks[queue_get(&awake)];
        numbers[i] = task->number;
        late[i] = task->late_ns;
        if ((i + 1) * reports / count > i * reports / count)
            report("::phase name=wake ns=%" PRId64, clock_ns() - begin);
    }
    qsort(numbers, (size_t)count, sizeof *numbers, ascending);
    qsort(late, (size_t)count, sizeof *late, ascending);
    for (int64_t i = 0; i < count; i++) {
        sum += numbers[i];
        order = (31 * order + numbers[i]) % MODULUS;
    }
    /* The smallest lateness that so many percent do not exceed. */
    report("::result sum=%" PRId64 " order=%" PRId64 " late_p50_ns=%" PRId64 " late_p99_ns=%" PRId64
           " late_max_ns=%" PRId64,
           sum, order, late[(count * 50 + 99) / 100 - 1], late[(count * 99 + 99) / 100 - 1], late[count - 1]);
    free(numbers);
    free(late);
}

int main(int argument_count, char **arguments)
{
    settings_read(argument_count, arguments);
    int64_t count = settings_whole_number("tasks", 1, 1000000);
    int64_t seconds = settings_whole_number("seconds", 2, 3600);
    int64_t number = 1 + settings_whole_number_or("seed", 0, UINT32_MAX, 0) % (MODULUS - 1);
    settings_whole_number_or("cores", 1, 1024, 1); /* The kernel spreads the threads. */
    bool holding = settings_flag("hold");

    int64_t begin = clock_ns();
    sem_init(&started, 0, 0);
    queue_init(&awake, PLACES);
    tasks = allocate((size_t)count * sizeof *tasks);
    for (int64_t i = 0; i < count; i++) {
        pthread_t thread;
        number = FACTOR * number % MODULUS;
        tasks[i] = (struct task){
            .number = number,
            .instant_ns = begin + (seconds - 1) * SECOND_NS + number * SECOND_NS / MODULUS,
        };
        thread_start(&thread, sleeper, &tasks[i]);
        pthread_detach(thread);
    }
    for (int64_t i = 0; i < count; i++) {
        while (sem_wait(&started) != 0) {
        }
    }
    report("::phase name=start ns=%" PRId64, clock_ns() - begin);
    if (holding) {
        report("::await name=started");
        for (int byte = getchar(); byte != EOF && byte != '\n'; byte = getchar()) {
        }
    }
    collect(count, begin);
    return 0;
}
