/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/ctl/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/mem.h"

#define COLUMNS_MAX 16

struct table {
    size_t n_columns;
    bool right[COLUMNS_MAX];
    int width[COLUMNS_MAX];
    char **cells; /* The titles, and then the rows. */
    size_t n;
    size_t allocated;
};

/* Names may come from a switch or a client: what would steer a terminal becomes
 * '?'. */
void
table_tame(char *text)
{
    for (; *text; text++) {
        if ((unsigned char) *text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

/* Adds the cell 'text', which is taken over, to 't'. */
static void
add__(struct table *t, char *text)
{
    size_t column = t->n % t->n_columns;
    int width = (int) strlen(text);

    table_tame(text);
    if (t->n == t->allocated) {
        t->cells = mem_grow(t->cells, &t->allocated, sizeof *t->cells);
    }
    t->cells[t->n++] = text;
    if (width > t->width[column]) {
        t->width[column] = width;
    }
}

/* Returns a table with the columns 'titles', at most 16. */
struct table *
table_create(const char *titles)
{
    struct table *t = mem_zalloc(sizeof *t);
    char *copy = mem_strdup(titles);
    char *save;
    size_t i = 0;

    t->n_columns = 1;
    for (const char *s = strchr(titles, ' '); s; s = strchr(s + 1, ' ')) {
        t->n_columns++;
    }
    for (char *s = strtok_r(copy, " ", &save); s && i < COLUMNS_MAX;
         s = strtok_r(NULL, " ", &save)) {
        t->right[i++] = *s == '>';
        add__(t, mem_strdup(s + (*s == '>')));
    }
    free(copy);
    return t;
}

/* Adds the next cell of 't'. */
void
table_add(struct table *t, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) {
        abort();
    }
    va_end(args);
    add__(t, text);
}

/* Writes 't' to 'stream'. */
void
table_print(const struct table *t, FILE *stream)
{
    for (size_t i = 0; i < t->n; i++) {
        size_t column = i % t->n_columns;
        bool last = column == t->n_columns - 1;
        int width = t->width[column];

        if (t->right[column]) {
            fprintf(stream, "%*s", width, t->cells[i]);
        } else {
            fprintf(stream, "%-*s", last ? 0 : width, t->cells[i]);
        }
        fputs(last ? "\n" : "  ", stream);
    }
}

/* Destroys 't', which may be NULL. */
void
table_destroy(struct table *t)
{
    if (t) {
        for (size_t i = 0; i < t->n; i++) {
            free(t->cells[i]);
        }
        free(t->cells);
        free(t);
    }
}

/* Writes 't' to standard output, and destroys it. */
void
table_finish(struct table *t)
{
    table_print(t, stdout);
    table_destroy(t);
}
