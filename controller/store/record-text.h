/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_RECORD_TEXT_H
#define EVLB_RECORD_TEXT_H 1

/* Records of the store as lines of text, "FIELD WORD...", in a fixed order.
 *
 * A reader takes the lines one by one, as they were written:
 *
 *     record_reader_init(&r, key, value);
 *     record_reader_field(&r, "instance");
 *     instance = (uint16_t) record_reader_uint(&r, INSTANCE_ID_MAX);
 *     while (record_reader_more(&r, "sender")) {
 *         record_reader_addr(&r, &sender);
 *     }
 *     error = record_reader_finish(&r);
 *
 * After the first mistake, all of them do nothing and return 0 or false; the
 * error of record_reader_finish() names the record, the line and the field.
 *
 * Texts of others, such as names, may hold anything but a null; what would not
 * fit into a line is written as "%" and two hexadecimal digits. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct record_reader {
    const char *key;
    char *text;        /* A copy of the value, in pieces. */
    char *rest;        /* Of the text: lines that come later; or NULL. */
    const char *field; /* The one that is read, or NULL. */
    char *words;       /* What is left of its words, or NULL. */
    unsigned int line;
    char *error;
};

void
record_reader_init(struct record_reader *, const char *key, const char *value);
void record_reader_field(struct record_reader *, const char *field);
bool record_reader_more(struct record_reader *, const char *field);

uint64_t record_reader_uint(struct record_reader *, uint64_t max);
double record_reader_factor(struct record_reader *, double max);
const char *record_reader_word(struct record_reader *);
bool record_reader_skip(struct record_reader *, const char *word);
void record_reader_addr(struct record_reader *, struct in6_addr *);
char *record_reader_text(struct record_reader *, size_t max);

void record_reader_fail(struct record_reader *, const char *format, ...)
    __attribute__((__format__(printf, 2, 3)));
char *record_reader_finish(struct record_reader *);

void record_write_text(FILE *, const char *field, const char *text);
void record_write_addr(FILE *, const char *field, const struct in6_addr *);

#endif /* record-text.h */
