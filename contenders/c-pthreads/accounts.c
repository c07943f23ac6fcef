/* The accounts: a thread for each unit and each auditor, and a mutex for each account; with sharing=one-lock one mutex
 * for all of them. */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "settings.h"
#include "threads.h"

#define MODULUS INT64_C(2147483647)
#define FACTOR INT64_C(48271)
#define OPENING_BALANCE INT64_C(1000)
/* A unit reads the clock before and after one of so many transfers. */
#define TIMED 16
#define PLACES 100

struct account {
    pthread_mutex_t lock;
    int64_t balance;
};

struct unit {
    pthread_t thread;
    int64_t number, made;
    sem_t answered;
    int64_t *transfer_ns, *audit_ns;
};

/* first, last: how many transfers had been counted at the first audit, and at the last. */
struct auditor {
    pthread_t thread;
    struct queue questions; /* the numbers of units, or -1 */
    int64_t audits, wrong, first, last;
};

static int64_t account_count, unit_count, transfers, auditor_count, every, hot, seed;
static bool is_one_lock;
static struct account *accounts;
static pthread_mutex_t lock_of_all = PTHREAD_MUTEX_INITIALIZER;
static struct unit *units;
static struct auditor *auditors;
static _Atomic int64_t counted;

/* Whoever needs several locks takes them in the order of the accounts, so that no two wait for each other. */
static void transfer(int64_t source, int64_t target, int64_t amount)
{
    struct account *from = &accounts[source], *to = &accounts[target];
    pthread_mutex_t *first = is_one_lock ? &lock_of_all : source < target ? &from->lock : &to->lock;
    pthread_mutex_t *second = is_one_lock ? NULL : source < target ? &to->lock : &from->lock;
    pthread_mutex_lock(first);
    if (second)
        pthread_mutex_lock(second);
    from->balance -= amount;
    to->balance += amount;
    if (second)
        pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static int64_t total(void)
{
    int64_t sum = 0;
    if (is_one_lock)
        pthread_mutex_lock(&lock_of_all);
    for (int64_t i = 0; !is_one_lock && i < account_count; i++)
        pthread_mutex_lock(&accounts[i].lock);
    for (int64_t i = 0; i < account_count; i++)
        sum += accounts[i].balance;
    for (int64_t i = 0; !is_one_lock && i < account_count; i++)
        pthread_mutex_unlock(&accounts[i].lock);
    if (is_one_lock)
        pthread_mutex_unlock(&lock_of_all);
    return sum;
}

static void *audit(void *argument)
{
    struct auditor *self = argument;
    for (int64_t unit; (unit = queue_get(&self->questions)) >= 0;) {
        self->wrong += total() != account_count * OPENING_BALANCE;
        self->last = atomic_load(&counted);
        if (self->audits++ == 0)
            self->first = self->last;
        sem_post(&units[unit].answered);
    }
    return NULL;
}

static int64_t draw(int64_t *x)
{
    return *x = FACTOR * *x % MODULUS;
}

static void *work(void *argument)
{
    struct unit *self = argument;
    int64_t x = 1 + (seed + self->number) % (MODULUS - 1), turn = self->number, timed = 0, audits = 0;
    while (self->made < transfers) {
        int64_t drawn = draw(&x), source = draw(&x) % account_count, target = draw(&x) % (account_count - 1);
        if (drawn / 1000 % 100 < hot)
            source = 0;
        target += target >= source;
        if (self->made % TIMED == 0) {
            int64_t begin = clock_ns();
            transfer(source, target, 1 + drawn % 1000);
            self->transfer_ns[timed++] = clock_ns() - begin;
        } else {
            transfer(source, target, 1 + drawn % 1000);
        }
        if (++self->made % every == 0) {
            atomic_fetch_add(&counted, every);
            int64_t begin = clock_ns();
            queue_put(&auditors[turn++ % auditor_count].questions, self->number);
            while (sem_wait(&self->answered) != 0) {
            }
            self->audit_ns[audits++] = clock_ns() - begin;
        }
    }
    return NULL;
}

static int ascending(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The smallest of times that so many percent do not exceed; 0 where there is none. */
static int64_t at(const int64_t *times, int64_t count, int64_t percent)
{
    return count ? times[(count * percent + 99) / 100 - 1] : 0;
}

static void hold(void)
{
    report("::await name=opened");
    for (int byte = getchar(); byte != EOF && byte != '\n'; byte = getchar()) {
    }
}

/* All units and auditors do their work. */
static void once(bool holding)
{
    accounts = allocate((size_t)account_count * sizeof *accounts);
    for (int64_t i = 0; i < account_count; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].balance = OPENING_BALANCE;
    }
    if (holding)
        hold();
    int64_t begin = clock_ns();
    atomic_store(&counted, 0);
    for (int64_t i = 0; i < unit_count; i++) {
        units[i].number = i;
        units[i].made = 0;
        sem_init(&units[i].answered, 0, 0);
    }
    for (int64_t i = 0; i < auditor_count; i++) {
        auditors[i] = (struct auditor){.audits = 0};
        queue_init(&auditors[i].questions, PLACES);
        thread_start(&auditors[i].thread, audit, &auditors[i]);
    }
    for (int64_t i = 0; i < unit_count; i++)
        thread_start(&units[i].thread, work, &units[i]);
    for (int64_t i = 0; i < unit_count; i++)
        pthread_join(units[i].thread, NULL);
    for (int64_t i = 0; i < auditor_count; i++) {
        queue_put(&auditors[i].questions, -1);
        pthread_join(auditors[i].thread, NULL);
        queue_destroy(&auditors[i].questions);
    }
    report("::phase name=transfer ns=%" PRId64, clock_ns() - begin);
}

static void report_auditors(char *into, const char *name, bool first)
{
    into += sprintf(into, "%s=", name);
    for (int64_t i = 0; i < auditor_count; i++)
        into += sprintf(into, "%s%" PRId64, i ? "," : "", first ? auditors[i].first : auditors[i].last);
}

int main(int argument_count, char **arguments)
{
    settings_read(argument_count, arguments);
    account_count = settings_whole_number("accounts", 2, 100000);
    unit_count = settings_whole_number("units", 1, 10000);
    transfers = settings_whole_number("transfers", 1, 1000000);
    auditor_count = settings_whole_number("auditors", 1, 1000);
    every = settings_whole_number("every", 1, 1000000);
    hot = settings_whole_number_or("hot", 0, 100, 0);
    seed = settings_whole_number_or("seed", 0, UINT32_MAX, 0);
    settings_whole_number_or("cores", 1, 1024, 1); /* The kernel spreads the threads. */
    int64_t repeats = settings_whole_number_or("repeats", 1, 3000, 1);
    bool holding = settings_flag("hold");
    is_one_lock = settings_one_of("sharing", (const char *const[]){"lock-for-each", "one-lock", NULL}) == 1;

    int64_t timed = (transfers + TIMED - 1) / TIMED, asked = transfers / every;
    units = allocate((size_t)unit_count * sizeof *units);
    auditors = allocate((size_t)auditor_count * sizeof *auditors);
    int64_t *transfer_ns = allocate((size_t)(unit_count * timed) * sizeof *transfer_ns);
    int64_t *audit_ns = allocate((size_t)(unit_count * asked + 1) * sizeof *audit_ns);
    for (int64_t i = 0; i < unit_count; i++) {
        units[i].transfer_ns = &transfer_ns[i * timed];
        units[i].audit_ns = &audit_ns[i * asked];
    }
    int64_t folded = 0, made = 0, audits = 0, wrong = 0;
    for (int64_t time = 0; time < repeats; time++) {
        once(holding && time == 0);
        for (int64_t i = 0; i < account_count; i++) {
            folded = (31 * folded + (accounts[i].balance % MODULUS + MODULUS) % MODULUS) % MODULUS;
            pthread_mutex_destroy(&accounts[i].lock);
        }
        free(accounts);
        for (int64_t i = 0; i < unit_count; i++)
            made += units[i].made;
        for (int64_t i = 0; i < auditor_count; i++) {
            audits += auditors[i].audits;
            wrong += auditors[i].wrong;
        }
    }
    char *first = allocate((size_t)auditor_count * 24 + 8), *last = allocate((size_t)auditor_count * 24 + 8);
    report_auditors(first, "first", true);
    report_auditors(last, "last", false);
    int64_t t = unit_count * timed, a = unit_count * asked;
    qsort(transfer_ns, (size_t)t, sizeof *transfer_ns, ascending);
    qsort(audit_ns, (size_t)a, sizeof *audit_ns, ascending);
    report("::result balances=%" PRId64 " transfers=%" PRId64 " audits=%" PRId64 " wrong=%" PRId64 " %s %s"
           " transfer_p50_ns=%" PRId64 " transfer_p99_ns=%" PRId64 " transfer_max_ns=%" PRId64
           " audit_p50_ns=%" PRId64 " audit_p99_ns=%" PRId64 " audit_max_ns=%" PRId64,
           folded, made, audits, wrong, first, last, at(transfer_ns, t, 50), at(transfer_ns, t, 99),
           at(transfer_ns, t, 100), at(audit_ns, a, 50), at(audit_ns, a, 99), at(audit_ns, a, 100));
    return 0;
}
