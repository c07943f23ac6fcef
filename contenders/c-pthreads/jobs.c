/* The background jobs: W threads take one after the other from a list. The main thread waits for answers, and beats. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"
#include "threads.h"

#define MODULUS INT64_C(2147483647)
#define FACTOR INT64_C(48271)
#define TIMES_ALONE 5
#define BEAT_NS INT64_C(10000000)
#define SECOND_NS INT64_C(1000000000)

enum kind { SLEEP, CPU, NOOP };

struct job {
    int64_t value, begin_ns, end_ns;
    int64_t worker;
    bool done;
};

static struct {
    enum kind kind;
    int64_t count, workers, seed, rounds, duration_ns;
    bool trace;
} settings;

/* Guarded by the mutex. `done` is signalled when the job that `waited` names is done. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done;
static struct job *jobs;
static int64_t next, waited;

static struct {
    int64_t last_ns, due_ns, gap_ns, beats;
} heart;

static int64_t first(int64_t number)
{
    return 1 + (settings.seed + number) % (MODULUS - 1);
}

static int64_t work(int64_t x)
{
    if (settings.kind == SLEEP) {
        struct timespec left = {settings.duration_ns / SECOND_NS, settings.duration_ns % SECOND_NS};
        while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        }
    }
    for (int64_t round = settings.kind == CPU ? settings.rounds : 1; round > 0; round--)
        x = FACTOR * x % MODULUS;
    return x;
}

static void *worker(void *argument)
{
    int64_t number = (int64_t)(intptr_t)argument;
    pthread_mutex_lock(&mutex);
    while (next < settings.count) {
        int64_t i = next++;
        pthread_mutex_unlock(&mutex);
        struct job job = {.begin_ns = clock_ns(), .worker = number, .done = true};
        job.value = work(first(i));
        job.end_ns = clock_ns();
        pthread_mutex_lock(&mutex);
        jobs[i] = job;
        if (i == waited)
            pthread_cond_signal(&done);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void look_back(int64_t now_ns)
{
    if (now_ns - heart.last_ns > heart.gap_ns)
        heart.gap_ns = now_ns - heart.last_ns;
}

static void beat_if_due(void)
{
    int64_t now_ns = clock_ns();
    if (now_ns < heart.due_ns)
        return;
    heart.beats++;
    look_back(now_ns);
    heart.last_ns = now_ns;
    heart.due_ns = now_ns + BEAT_NS;
}

/* Waits for one line on stdin, and beats meanwhile. */
static void hold(void)
{
    report("::await name=submitted");
    for (;;) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        int64_t wait_ns = heart.due_ns - clock_ns();
        struct timespec wait = {0, wait_ns > 0 ? wait_ns : 0};
        if (ppoll(&input, 1, &wait, NULL) > 0) {
            char byte;
            if (read(STDIN_FILENO, &byte, 1) <= 0 || byte == '\n')
                return;
        }
        beat_if_due();
    }
}

/* Waits for the answers in the order of the jobs, and beats meanwhile. */
static void gather(void)
{
    pthread_mutex_lock(&mutex);
    for (waited = 0; waited < settings.count; waited++) {
        while (!jobs[waited].done) {
            struct timespec due = {heart.due_ns / SECOND_NS, heart.due_ns % SECOND_NS};
            pthread_cond_timedwait(&done, &mutex, &due);
            beat_if_due();
        }
    }
    pthread_mutex_unlock(&mutex);
}

static void in_background(bool holding, int64_t *order)
{
    int64_t start = clock_ns();
    next = 0;
    waited = -1;
    jobs = calloc((size_t)settings.count, sizeof *jobs);
    pthread_t *threads = allocate((size_t)settings.workers * sizeof *threads);
    if (jobs == NULL)
        give_up(1, "there is no memory left");
    for (int64_t i = 0; i < settings.workers; i++)
        thread_start(&threads[i], worker, (void *)(intptr_t)i);
    int64_t submitted = clock_ns();
    report("::phase name=submit ns=%" PRId64, submitted - start);
    heart.last_ns = submitted;
    heart.due_ns = submitted + BEAT_NS;
    heart.gap_ns = 0;
    if (holding)
        hold();
    gather();
    int64_t end = clock_ns();
    report("::phase name=makespan ns=%" PRId64, end - start);
    look_back(end);
    for (int64_t i = 0; i < settings.workers; i++)
        pthread_join(threads[i], NULL);

    report("::phase name=gap ns=%" PRId64, heart.gap_ns);
    for (int64_t i = 0; i < settings.count; i++) {
        *order = (31 * *order + jobs[i].value) % MODULUS;
        if (settings.trace)
            report("::span unit=%" PRId64 " begin=%" PRId64 " end=%" PRId64, jobs[i].worker, jobs[i].begin_ns - start,
                   jobs[i].end_ns - start);
    }
    free(threads);
    free(jobs);
}

int main(int count, char **arguments)
{
    static const char *const kinds[] = {"sleep", "cpu", "noop", NULL};
    settings_read(count, arguments);
    settings.kind = (enum kind)settings_needed("kind", kinds);
    settings.count = settings_whole_number("jobs", 1, 1000000);
    settings.workers = settings_whole_number("workers", 1, 1024);
    settings.seed = settings_whole_number_or("seed", 0, UINT32_MAX, 0);
    settings.rounds = settings_whole_number_or("rounds", 1, MOST, 1000000);
    settings.duration_ns = 1000000 * settings_whole_number_or("duration_ms", 0, 3600000, 1000);
    settings.trace = settings_flag("trace");
    bool holding = settings_flag("hold");
    int64_t repeats = settings_whole_number_or("repeats", 1, 3000, 1);

    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&done, &attributes);

    /* Each begins with the answer of the one before; volatile: it is there before the clock is read. */
    volatile int64_t last = first(0);
    for (int i = 0; i < TIMES_ALONE && settings.kind == CPU; i++) {
        int64_t start = clock_ns();
        last = work(last);
        report("::phase name=alone ns=%" PRId64, clock_ns() - start);
    }
    int64_t order = 0;
    for (int64_t i = 0; i < repeats; i++)
        in_background(holding && i == 0, &order);
    report("::result answers=%" PRId64 " order=%" PRId64 " beats=%" PRId64 " alone=%" PRId64, repeats * settings.count,
           order, heart.beats, last);
    return 0;
}
