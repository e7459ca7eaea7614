/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_UNIT_RANDOM_BOOK_H
#define TESTS_UNIT_RANDOM_BOOK_H 1

/* Books that change at random, for tests of properties. */

#include <stdint.h>

#include "controller/core/book.h"

struct book *random_book_next(uint64_t *seed, const struct book *);
void random_book_reserve(uint64_t *seed, struct book *);
void random_book_register(uint64_t *seed, struct book *, uint64_t reservation);

#endif /* random-book.h */
