/* The arguments, key=value each. A value that cannot be used ends the program with status 2 and one line; unknown keys
 * are ignored. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST 1000000000

void settings_read(int count, char **arguments);

/* The value of a key, or NULL. */
const char *settings_text(const char *key);

/* The value of a key that must be there. */
int64_t settings_whole_number(const char *key, int64_t least, int64_t most);
int64_t settings_whole_number_or(const char *key, int64_t least, int64_t most, int64_t otherwise);

/* The index of the value among the choices, which end with NULL. The first is the default. */
int settings_one_of(const char *key, const char *const *choices);
/* The same for a key that must be there. */
int settings_needed(const char *key, const char *const *choices);
bool settings_flag(const char *key);

_Noreturn void refuse(const char *key, const char *wanted);
_Noreturn void give_up(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a protocol line at once. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Nanoseconds of the monotonic clock. */
int64_t clock_ns(void);

/* Memory, or the end of the program. */
void *allocate(size_t bytes);

#endif
