/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_BOOK_RECORD_H
#define EVLB_BOOK_RECORD_H 1

/* The book as records of the store, and back.
 *
 *     book            the greatest ids that were given
 *     reservation/ID  a reservation
 *     session/ID      a session
 *     token/ID        a token; the root is not stored
 *     chain/ID        a chain; its secret is sealed
 *
 * Values are lines, as controller/store/record-text.h says.  What workers
 * report is not stored.
 *
 * A transaction gets only the records in which two books differ: two small
 * ones, and the ids, for a worker that registers, however many there are. */

#include <stdint.h>

#include "controller/core/book.h"

struct store;
struct store_txn;

void book_record_put_changes(struct store_txn *, const struct book *old,
                             const struct book *new);

char *book_record_load(struct store *, int64_t now, struct book **);
char *book_record_parse(struct book *, int64_t now, const char *key,
                        const char *value);
char *book_record_check(const struct book *);

#endif /* book-record.h */
