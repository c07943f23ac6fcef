/* The ring: a thread for each unit, a bounded queue between neighbours. */
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "queue.h"
#include "settings.h"
#include "threads.h"

#define MODULUS INT64_C(2147483647)
#define OWN_CAPACITY 30

struct ring {
    int64_t nodes, messages;
    size_t capacity;
    bool token, trace;
    /* Of unit N: over all values, those of earlier rings among them, and when the last one came. */
    int64_t checksum, order, end_ns;
    sem_t arrived;
    struct unit *units;
};

struct unit {
    struct ring *ring;
    int64_t number;
    pthread_t thread;
    struct queue inbox;
};

/* Message 0, which ends the ring, as unit i receives it: the units before have added their numbers. */
static int64_t terminator(int64_t i)
{
    return i * (i - 1) / 2;
}

static void trace_relay(int64_t number, int64_t r)
{
    unsigned long id = pthread_self();
    if (r > 0)
        printf(": Proc: %lx, Seq#: %" PRId64 ", Msg#: %" PRId64 " ..\n", id, number, r);
    else
        printf("* Proc: %lx, Seq#: %" PRId64 ", Msg#: terminate!\n", id, number);
}

static void trace_last(int64_t number, int64_t r)
{
    unsigned long id = pthread_self();
    if (r > 0)
        printf("> Proc: %lx, Seq#: %" PRId64 ", Msg#: %" PRId64 " ..\n", id, number, r);
    else
        printf("@ Proc: %lx, Seq#: %" PRId64 ", ring terminated.\n", id, number);
}

/* Unit i, one of 1 … N-1. */
static void *relay(void *argument)
{
    struct unit *unit = argument;
    struct unit *next = unit + 1;
    int64_t number = unit->number, end = terminator(number), value;
    bool trace = unit->ring->trace;
    do {
        value = queue_get(&unit->inbox);
        if (trace)
            trace_relay(number, value - end);
        queue_put(&next->inbox, value + number);
    } while (value != end);
    return NULL;
}

/* Unit N. */
static void *last_unit(void *argument)
{
    struct unit *unit = argument;
    struct ring *ring = unit->ring;
    int64_t end = terminator(unit->number), value;
    do {
        value = queue_get(&unit->inbox);
        ring->checksum += value;
        ring->order = (31 * ring->order + value) % MODULUS;
        if (ring->trace)
            trace_last(unit->number, value - end);
        if (ring->token)
            sem_post(&ring->arrived);
    } while (value != end);
    ring->end_ns = clock_ns();
    return NULL;
}

static void once(struct ring *ring, bool hold)
{
    int64_t start = clock_ns();
    sem_init(&ring->arrived, 0, 0);
    ring->units = allocate((size_t)ring->nodes * sizeof *ring->units);
    for (int64_t i = 0; i < ring->nodes; i++) {
        ring->units[i].ring = ring;
        ring->units[i].number = i + 1;
        queue_init(&ring->units[i].inbox, ring->capacity);
    }
    for (int64_t i = 0; i < ring->nodes; i++)
        thread_start(&ring->units[i].thread, i + 1 < ring->nodes ? relay : last_unit, &ring->units[i]);
    report("::phase name=spawn ns=%" PRId64, clock_ns() - start);
    if (hold) {
        report("::await name=spawned");
        for (int c; (c = getchar()) != EOF && c != '\n';) {
        }
    }

    start = clock_ns();
    for (int64_t r = ring->messages - 1; r >= 0; r--) {
        queue_put(&ring->units[0].inbox, r);
        if (ring->token)
            sem_wait(&ring->arrived);
    }
    pthread_join(ring->units[ring->nodes - 1].thread, NULL);
    report("::phase name=relay ns=%" PRId64, ring->end_ns - start);
    for (int64_t i = 0; i + 1 < ring->nodes; i++)
        pthread_join(ring->units[i].thread, NULL);
    for (int64_t i = 0; i < ring->nodes; i++)
        queue_destroy(&ring->units[i].inbox);
    free(ring->units);
    sem_destroy(&ring->arrived);
}

int main(int count, char **arguments)
{
    static const char *const capacities[] = {"own", "1", "30", "1000", NULL};
    static const size_t places[] = {OWN_CAPACITY, 1, 30, 1000};
    static const char *const modes[] = {"pipelined", "token", NULL};
    settings_read(count, arguments);
    struct ring ring = {
        .nodes = settings_whole_number("nodes", 2, MOST),
        .messages = settings_whole_number("messages", 1, MOST),
        .capacity = places[settings_one_of("capacity", capacities)],
        .token = settings_one_of("mode", modes) == 1,
        .trace = settings_flag("trace"),
    };
    bool hold = settings_flag("hold");
    int64_t repeats = settings_whole_number_or("repeats", 1, 3000, 1);
    for (int64_t i = 0; i < repeats; i++)
        once(&ring, hold && i == 0);
    report("::result checksum=%" PRId64 " order=%" PRId64, ring.checksum, ring.order);
    return 0;
}
