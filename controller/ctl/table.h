/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_TABLE_H
#define EVLB_TABLE_H 1

/* Tables for people: columns that line up, as wide as they have to be.
 *
 * A table is made with the titles of its columns, separated by spaces; the
 * cells of a column whose title starts with ">" stand to the right, as numbers
 * do.  Cells are added row by row. */

#include <stdio.h>

struct table;

void table_tame(char *text);

struct table *table_create(const char *titles);
void table_add(struct table *, const char *format, ...)
    __attribute__((__format__(printf, 2, 3)));
void table_print(const struct table *, FILE *);
void table_destroy(struct table *);
void table_finish(struct table *);

#endif /* table.h */
