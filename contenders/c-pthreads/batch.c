/* The batch: a thread reads, P threads compute, the main thread writes; a bounded queue on each side of the P. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "settings.h"
#include "threads.h"

#define OWN_CAPACITY 100
/* Cases that may be in progress, from their reading until their answers are written, and bytes of their text. */
#define MOST_CASES 4096
#define MOST_BYTES (16 << 20)
#define LARGEST 100000
#define MOST_SIZE 1000000

struct task {
    int64_t number, size, product, compute_ns;
    char *vectors[2];
    size_t bytes;
};

struct input {
    FILE *file;
    char *line;
    size_t room;
};

static const char *path;
static int64_t cores;
static struct queue cases, answers;
static pthread_mutex_t ahead_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ahead_cond = PTHREAD_COND_INITIALIZER;
static size_t ahead_cases, ahead_bytes;
static int64_t read_ns, wait_ahead_ns;

static _Noreturn void bad_input(int64_t number, const char *why)
{
    if (number > 0)
        give_up(2, "input: case %" PRId64 ": %s", number, why);
    give_up(2, "input: %s", why);
}

/* The next line without its newline, of so many bytes at most. */
static size_t read_line(struct input *input, int64_t number, size_t most)
{
    ssize_t read = getline(&input->line, &input->room, input->file);
    if (read < 0 || input->line[read - 1] != '\n')
        bad_input(number, ferror(input->file) ? strerror(errno) : "it ends in the middle of a line");
    size_t length = (size_t)read - 1;
    input->line[length] = '\0';
    if (length > most)
        bad_input(number, "a line is too long");
    if (memchr(input->line, '\0', length) != NULL)
        bad_input(number, "a byte is zero");
    return length;
}

static int64_t read_number(struct input *input, int64_t number, int64_t most)
{
    size_t length = read_line(input, number, 18);
    if (length == 0 || strspn(input->line, "0123456789") != length || strtoll(input->line, NULL, 10) > most)
        bad_input(number, "a number of cases or a size must be a whole number in its range");
    return strtoll(input->line, NULL, 10);
}

static char *read_vector(struct input *input, int64_t number, int64_t size, size_t *bytes)
{
    size_t length = read_line(input, number, 8 * (size_t)size);
    char *text = allocate(length + 1);
    memcpy(text, input->line, length + 1);
    *bytes += length;
    return text;
}

/* Waits until another case of so many bytes may be in progress. One always may. */
static void wait_for_room(size_t bytes)
{
    int64_t start = clock_ns();
    pthread_mutex_lock(&ahead_mutex);
    while (ahead_cases == MOST_CASES || (ahead_cases > (size_t)cores && ahead_bytes + bytes > MOST_BYTES))
        pthread_cond_wait(&ahead_cond, &ahead_mutex);
    ahead_cases++;
    ahead_bytes += bytes;
    pthread_mutex_unlock(&ahead_mutex);
    wait_ahead_ns += clock_ns() - start;
}

static void *read_all(void *unused)
{
    (void)unused;
    int64_t start = clock_ns();
    struct input input = {.file = fopen(path, "r")};
    if (input.file == NULL)
        bad_input(0, strerror(errno));
    int64_t count = read_number(&input, 0, INT64_MAX);
    for (int64_t number = 1; number <= count; number++) {
        struct task *task = allocate(sizeof *task);
        *task = (struct task){.number = number, .size = read_number(&input, number, MOST_SIZE)};
        for (int i = 0; i < 2; i++)
            task->vectors[i] = read_vector(&input, number, task->size, &task->bytes);
        wait_for_room(task->bytes);
        queue_put(&cases, (intptr_t)task);
    }
    if (getc(input.file) != EOF)
        bad_input(0, "it goes on after its last case");
    fclose(input.file);
    free(input.line);
    for (int64_t i = 0; i < cores; i++)
        queue_put(&cases, 0);
    read_ns = clock_ns() - start - wait_ahead_ns;
    return NULL;
}

static int compare(const void *one, const void *other)
{
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)other;
    return (a > b) - (a < b);
}

/* The sorted numbers of a vector's text. */
static int32_t *numbers_of(const struct task *task, int which)
{
    int32_t *numbers = allocate((size_t)task->size * sizeof *numbers);
    const char *text = task->vectors[which];
    int64_t count = 0;
    while (*text != '\0') {
        char *end;
        errno = 0;
        long number = strtol(text, &end, 10);
        if (end == text || (*end != ' ' && *end != '\0') || errno != 0 || labs(number) > LARGEST)
            bad_input(task->number, "numbers must be from -100000 to 100000");
        if (count == task->size)
            bad_input(task->number, "a vector has too many numbers");
        numbers[count++] = (int32_t)number;
        text = *end == ' ' ? end + 1 : end;
    }
    if (count != task->size)
        bad_input(task->number, "a vector has too few numbers");
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    return numbers;
}

static void *compute(void *unused)
{
    (void)unused;
    for (struct task *task; (task = (struct task *)(intptr_t)queue_get(&cases)) != NULL;) {
        int64_t start = clock_ns();
        int32_t *upwards = numbers_of(task, 0), *downwards = numbers_of(task, 1);
        for (int64_t i = 0; i < task->size; i++)
            task->product += (int64_t)upwards[i] * downwards[task->size - 1 - i];
        free(upwards);
        free(downwards);
        free(task->vectors[0]);
        free(task->vectors[1]);
        task->compute_ns = clock_ns() - start;
        queue_put(&answers, (intptr_t)task);
    }
    queue_put(&answers, 0);
    return NULL;
}

/* Writes the answers in the order of the cases. At most MOST_CASES are in progress: each has a place of its own
 * here. */
static int64_t write_all(int64_t *compute_ns, int64_t *wait_empty_ns)
{
    struct task **early = calloc(MOST_CASES, sizeof *early);
    int64_t next_number = 1;
    if (early == NULL)
        give_up(1, "there is no memory left");
    for (int64_t computing = cores; computing > 0;) {
        int64_t waiting = clock_ns();
        struct task *task = (struct task *)(intptr_t)queue_get(&answers);
        *wait_empty_ns += clock_ns() - waiting;
        if (task == NULL) {
            computing--;
            continue;
        }
        early[task->number % MOST_CASES] = task;
        for (struct task *due; (due = early[next_number % MOST_CASES]) != NULL; next_number++) {
            early[next_number % MOST_CASES] = NULL;
            if (printf("Case #%" PRId64 ": %" PRId64 "\n", due->number, due->product) < 0)
                give_up(1, "cannot write to stdout");
            *compute_ns += due->compute_ns;
            pthread_mutex_lock(&ahead_mutex);
            ahead_cases--;
            ahead_bytes -= due->bytes;
            pthread_cond_signal(&ahead_cond);
            pthread_mutex_unlock(&ahead_mutex);
            free(due);
        }
    }
    free(early);
    return next_number - 1;
}

static int64_t once(size_t capacity)
{
    int64_t start = clock_ns(), compute_ns = 0, wait_empty_ns = 0;
    pthread_t reader, *workers = allocate((size_t)cores * sizeof *workers);
    wait_ahead_ns = 0;
    queue_init(&cases, OWN_CAPACITY);
    queue_init(&answers, capacity);
    thread_start(&reader, read_all, NULL);
    for (int64_t i = 0; i < cores; i++)
        thread_start(&workers[i], compute, NULL);
    int64_t writing = clock_ns();
    int64_t count = write_all(&compute_ns, &wait_empty_ns);
    int64_t write_ns = clock_ns() - writing - wait_empty_ns;
    pthread_join(reader, NULL);
    for (int64_t i = 0; i < cores; i++)
        pthread_join(workers[i], NULL);
    queue_destroy(&cases);
    queue_destroy(&answers);
    free(workers);
    report("::phase name=work ns=%" PRId64, clock_ns() - start);
    report("::phase name=read ns=%" PRId64, read_ns);
    report("::phase name=compute ns=%" PRId64, compute_ns);
    report("::phase name=write ns=%" PRId64, write_ns);
    report("::phase name=wait_ahead ns=%" PRId64, wait_ahead_ns);
    report("::phase name=wait_empty ns=%" PRId64, wait_empty_ns);
    return count;
}

int main(int argument_count, char **arguments)
{
    static const char *const capacities[] = {"own", "1", "100", "10000", NULL};
    static const size_t places[] = {OWN_CAPACITY, 1, 100, 10000};
    settings_read(argument_count, arguments);
    cores = settings_whole_number_or("cores", 1, 1024, 1);
    size_t capacity = places[settings_one_of("capacity", capacities)];
    int64_t repeats = settings_whole_number_or("repeats", 1, 3000, 1);
    path = settings_text("input");
    if (path == NULL || *path == '\0')
        refuse("input", "the path of a file");
    int64_t all = 0;
    for (int64_t i = 0; i < repeats; i++)
        all += once(capacity);
    report("::result cases=%" PRId64, all);
    return 0;
}
