/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/config-numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

/* Where a text is read. */
struct cursor {
    const char *p;
    int line;
};

/* Skips 'n' characters. */
static void
advance__(struct cursor *c, size_t n)
{
    for (; n && *c->p; n--, c->p++) {
        c->line += *c->p == '\n';
    }
}

/* Skips all up to and including 'end', or to the end of the text. */
static void
skip_past__(struct cursor *c, const char *end)
{
    const char *found = strstr(c->p, end);

    advance__(c, found ? (size_t) (found - c->p) + strlen(end) : SIZE_MAX);
}

static void
skip_string__(struct cursor *c)
{
    advance__(c, 1);
    while (*c->p && *c->p != '"') {
        advance__(c, *c->p == '\\' ? 2 : 1);
    }
    advance__(c, 1);
}

/* Returns how many characters from 'p' on may belong to one name or number. */
static size_t
word_length__(const char *p)
{
    size_t n = 0;

    while (isalnum((unsigned char) p[n]) || (p[n] && strchr("_-.*+", p[n]))) {
        n++;
    }
    return n;
}

/* Returns what is wrong with the number 'word', or NULL.  The caller must free
 * it. */
static char *
check_number__(const char *word)
{
    bool negative = *word == '-';
    const char *digits = word + (negative || *word == '+');
    bool hex = digits[0] == '0' && (digits[1] | 0x20) == 'x';
    uint64_t max = (hex        ? UINT32_MAX
                    : negative ? (uint64_t) INT32_MAX + 1
                               : INT32_MAX);
    unsigned long long int value;
    char *end;

    errno = 0;
    value = strtoull(digits, &end, hex ? 16 : 10);
    if (*end == 'L') {
        max = hex ? UINT64_MAX : INT64_MAX;
    } else if (*end) {
        return NULL; /* A fraction, or nothing that can be read. */
    }
    if (errno != ERANGE && value <= max) {
        return NULL;
    }
    if (*end == 'L' || errno == ERANGE || (!hex && value > INT64_MAX)) {
        return mem_printf(
            "%s is too large; up to 18446744073709551615, it can "
            "be written in quotes",
            word);
    }
    return mem_printf("%s has more than 32 bits; write an L behind it: %sL",
                      word, word);
}

/* Skips the word at 'c', and returns what is wrong with it if it is a number,
 * or NULL. */
static char *
check_word__(struct cursor *c)
{
    size_t n = word_length__(c->p);
    bool is_number =
        isdigit((unsigned char) *c->p) || (strchr("+-", *c->p) && n > 1);
    char word[64];

    if (is_number && n < sizeof word) {
        char *error;

        memcpy(word, c->p, n);
        word[n] = '\0';
        error = check_number__(word);
        if (error) {
            return error;
        }
    }
    advance__(c, n ? n : 1);
    return NULL;
}

/* Returns what is wrong with the first number that is in 'text' and would be
 * cut off, which the caller must free, and stores its line, or returns
 * NULL. */
char *
config_numbers_check_text(const char *text, int *line)
{
    struct cursor c = { text, 1 };
    char *error = NULL;

    while (!error && *c.p) {
        if (*c.p == '"') {
            skip_string__(&c);
        } else if (*c.p == '#' || !strncmp(c.p, "//", 2)) {
            skip_past__(&c, "\n");
        } else if (!strncmp(c.p, "/*", 2)) {
            skip_past__(&c, "*/");
        } else {
            error = check_word__(&c);
        }
    }
    *line = c.line;
    return error;
}

/* Returns the content of 'file', which the caller must free, or NULL. */
static char *
read_file__(const char *file)
{
    FILE *stream = fopen(file, "r");
    char *text = NULL;
    size_t allocated = 0;

    if (stream) {
        /* A text has no null byte, so this is all of it. */
        if (getdelim(&text, &allocated, '\0', stream) < 0) {
            free(text);
            text = NULL;
        }
        fclose(stream);
    }
    return text;
}

static char *
check_file__(const char *file)
{
    char *text = read_file__(file);
    char *what, *error = NULL;
    int line;

    if (text) {
        what = config_numbers_check_text(text, &line);
        if (what) {
            error = mem_printf("%s:%d: %s", file, line, what);
        }
        free(what);
        free(text);
    }
    return error;
}

/* Checks the files that 'setting' and what is in it are from, but for the one
 * in '*last', which becomes the last one that was checked. */
static char *
check_setting__(const config_setting_t *setting, const char **last)
{
    const char *file = config_setting_source_file(setting);
    char *error = NULL;

    if (file && strcmp(file, *last)) {
        *last = file;
        error = check_file__(file);
    }
    if (config_setting_is_aggregate(setting)) {
        int n = config_setting_length(setting);

        for (int i = 0; !error && i < n; i++) {
            error = check_setting__(
                config_setting_get_elem(setting, (unsigned int) i), last);
        }
    }
    return error;
}

/* Returns what is wrong with the first number that was cut off, in 'file' or in
 * the files that it includes, with file and line, which the caller must free,
 * or NULL. */
char *
config_numbers_check(const config_setting_t *root, const char *file)
{
    const char *last = file;
    char *error = check_file__(file);

    return error ? error : check_setting__(root, &last);
}
