/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CHAIN_RECORD_H
#define EVLB_CHAIN_RECORD_H 1

/* A chain as a record of the store, "chain/ID": see controller/store/
 * book-record.h.  The secret in it stays sealed. */

#include <stdint.h>
#include <stdio.h>

struct book;
struct record_reader;

void chain_record_format(FILE *, const void *chain);
char *chain_record_parse(struct book *, uint64_t id, struct record_reader *);

#endif /* chain-record.h */
