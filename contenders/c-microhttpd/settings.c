#include "settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int argument_count;
static char **argument_list;

void settings_read(int count, char **arguments)
{
    argument_count = count;
    argument_list = arguments;
}

const char *settings_text(const char *key)
{
    size_t length = strlen(key);
    for (int i = argument_count - 1; i > 0; i--) { /* The last one counts. */
        if (strncmp(argument_list[i], key, length) == 0 && argument_list[i][length] == '=')
            return argument_list[i] + length + 1;
    }
    return NULL;
}

int64_t settings_whole_number(const char *key, int64_t least, int64_t most)
{
    const char *text = settings_text(key);
    char wanted[64];
    if (text != NULL) {
        size_t digits = strspn(text, "0123456789");
        if (digits > 0 && digits <= 18 && text[digits] == '\0') {
            int64_t number = strtoll(text, NULL, 10);
            if (least <= number && number <= most)
                return number;
        }
    }
    snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)least, (long long)most);
    refuse(key, wanted);
}

int64_t settings_whole_number_or(const char *key, int64_t least, int64_t most, int64_t otherwise)
{
    return settings_text(key) == NULL ? otherwise : settings_whole_number(key, least, most);
}

int settings_one_of(const char *key, const char *const *choices)
{
    return settings_text(key) == NULL ? 0 : settings_needed(key, choices);
}

int settings_needed(const char *key, const char *const *choices)
{
    const char *text = settings_text(key);
    for (int i = 0; text != NULL && choices[i] != NULL; i++) {
        if (strcmp(text, choices[i]) == 0)
            return i;
    }
    refuse(key, "one of the values that the contract names");
}

bool settings_flag(const char *key)
{
    static const char *const choices[] = {"0", "1", NULL};
    return settings_one_of(key, choices) == 1;
}

void refuse(const char *key, const char *wanted)
{
    const char *text = settings_text(key);
    give_up(2, "%s must be %s, not \"%.40s\"", key, wanted, text == NULL ? "" : text);
}

void give_up(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    /* At once, whatever other threads do: not by exit(), which would flush what they print. */
    _exit(status);
}

void report(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vprintf(format, arguments);
    va_end(arguments);
    if (written < 0 || putchar('\n') == EOF || fflush(stdout) == EOF)
        give_up(1, "cannot write to stdout");
}

int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void *allocate(size_t bytes)
{
    void *memory = malloc(bytes == 0 ? 1 : bytes);
    if (memory == NULL)
        give_up(1, "there is no memory left");
    return memory;
}
