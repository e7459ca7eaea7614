/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/chain-record.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/core/chain.h"
#include "controller/core/mem.h"
#include "controller/store/demand-record.h"
#include "controller/store/record-text.h"

#define SECRET_MAX 8192

void
chain_record_format(FILE *stream, const void *chain)
{
    const struct chain *c = chain;

    fprintf(stream, "reservation %" PRIu64 "\n", c->reservation);
    record_write_text(stream, "name", c->name);
    record_write_text(stream, "upstream", c->upstream);
    record_write_text(stream, "secret", c->secret);
    fprintf(stream, "family %d\n", (int) c->family);
    fprintf(stream, "weight %.17g\n", c->weight);
    fprintf(stream, "factors %.17g %.17g\n", c->min_factor, c->max_factor);
    for (size_t i = 0; i < c->n_sources; i++) {
        record_write_addr(stream, "source", &c->sources[i]);
    }
    demand_record_format(stream, c->demands, c->n_demands);
}

static void
read_sources__(struct record_reader *reader, struct chain *c)
{
    while (record_reader_more(reader, "source")) {
        if (c->n_sources >= sizeof c->sources / sizeof c->sources[0]) {
            record_reader_fail(reader, "is one of more than 2");
            return;
        }
        record_reader_addr(reader, &c->sources[c->n_sources++]);
    }
}

/* Puts into 'book' the chain 'id' that 'reader' reads.  Returns NULL, or an
 * error, which the caller must free. */
char *
chain_record_parse(struct book *book, uint64_t id,
                   struct record_reader *reader)
{
    struct chain *c = mem_zalloc(sizeof *c);
    char *error;

    c->entry.n_refs = 1;
    c->entry.id = id;
    record_reader_field(reader, "reservation");
    c->reservation = record_reader_uint(reader, UINT64_MAX);
    record_reader_field(reader, "name");
    c->name = record_reader_text(reader, BOOK_NAME_MAX);
    record_reader_field(reader, "upstream");
    c->upstream = record_reader_text(reader, SECRET_MAX);
    record_reader_field(reader, "secret");
    c->secret = record_reader_text(reader, SECRET_MAX);
    record_reader_field(reader, "family");
    c->family = (enum ip_family) record_reader_uint(reader, IP_FAMILY_IPV6);
    record_reader_field(reader, "weight");
    c->weight = record_reader_factor(reader, DBL_MAX);
    record_reader_field(reader, "factors");
    c->min_factor = record_reader_factor(reader, DBL_MAX);
    c->max_factor = record_reader_factor(reader, DBL_MAX);
    read_sources__(reader, c);
    c->demands = demand_record_parse(reader, &c->n_demands);
    error = record_reader_finish(reader);
    if (error) {
        chain_unref(c);
    } else {
        book_put_chain(book, c);
    }
    return error;
}
