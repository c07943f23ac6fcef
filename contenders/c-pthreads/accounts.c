/* The accounts: a thread for each unit and each auditor, and a mutex for each account; with sharing=one-lock one mutex
 * for all of them. With sharing=processes a process in place of each thread, and all that they share in shared memory. */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
    int64_t places[PLACES]; /* of the questions, where processes ask them */
};

static int64_t account_count, unit_count, transfers, auditor_count, every, hot, seed;
static bool is_one_lock, with_processes;
static struct account *accounts;
static pthread_mutex_t lock_of_all = PTHREAD_MUTEX_INITIALIZER;
static struct unit *units;
static struct auditor *auditors;
static _Atomic int64_t *counted;

/* A unit takes several locks in the order of the accounts, so that no two wait for each other. */
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
        self->last = atomic_load(counted);
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
            atomic_fetch_add(counted, every);
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

/* Memory that all units and auditors share. */
static void *share(size_t bytes)
{
    if (!with_processes)
        return allocate(bytes);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up(1, "there is no memory left");
    return memory;
}

static void start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    if (!with_processes) {
        thread_start(thread, body, argument);
        return;
    }
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        give_up(1, "no more processes can be started");
    if (child > 0)
        return;
    /* It ends with its parent, however that ends. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        body(argument);
    _exit(0);
}

/* Waits until so many processes have ended. One that is killed may have had locks that others wait for. */
static void wait_for(int64_t processes)
{
    for (int status; processes > 0; processes--)
        if (wait(&status) < 0 || status != 0)
            give_up(1, "a process ended before its work was done");
}

/* All units and auditors do their work. */
static void once(bool holding)
{
    accounts = share((size_t)account_count * sizeof *accounts);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, with_processes ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
    for (int64_t i = 0; i < account_count; i++) {
        pthread_mutex_init(&accounts[i].lock, &attributes);
        accounts[i].balance = OPENING_BALANCE;
    }
    pthread_mutexattr_destroy(&attributes);
    if (holding)
        hold();
    int64_t begin = clock_ns();
    atomic_store(counted, 0);
    for (int64_t i = 0; i < unit_count; i++) {
        units[i].number = i;
        units[i].made = 0;
        sem_init(&units[i].answered, with_processes, 0);
    }
    for (int64_t i = 0; i < auditor_count; i++) {
        auditors[i] = (struct auditor){.audits = 0};
        if (with_processes)
            queue_init_shared(&auditors[i].questions, PLACES, auditors[i].places);
        else
            queue_init(&auditors[i].questions, PLACES);
        start(&auditors[i].thread, audit, &auditors[i]);
    }
    for (int64_t i = 0; i < unit_count; i++)
        start(&units[i].thread, work, &units[i]);
    if (with_processes)
        wait_for(unit_count);
    for (int64_t i = 0; !with_processes && i < unit_count; i++)
        pthread_join(units[i].thread, NULL);
    for (int64_t i = 0; i < auditor_count; i++)
        queue_put(&auditors[i].questions, -1);
    if (with_processes)
        wait_for(auditor_count);
    for (int64_t i = 0; !with_processes && i < auditor_count; i++) {
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
    int sharing = settings_one_of("sharing", (const char *const[]){"lock-for-each", "one-lock", "processes", NULL});
    is_one_lock = sharing == 1;
    with_processes = sharing == 2;

    int64_t timed = (transfers + TIMED - 1) / TIMED, asked = transfers / every;
    counted = share(sizeof *counted);
    units = share((size_t)unit_count * sizeof *units);
    auditors = share((size_t)auditor_count * sizeof *auditors);
    int64_t *transfer_ns = share((size_t)(unit_count * timed) * sizeof *transfer_ns);
    int64_t *audit_ns = share((size_t)(unit_count * asked + 1) * sizeof *audit_ns);
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
        if (with_processes)
            munmap(accounts, (size_t)account_count * sizeof *accounts);
        else
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
