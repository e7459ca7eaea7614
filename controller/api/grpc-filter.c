/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/api/grpc-filter.h"

#include <string.h>

#define PREFACE_LEN 24
#define HEADER_LEN 9
#define RESET_LEN 4

enum {
    FRAME_HEADERS = 1,
    FRAME_RESET = 3
};

/* Makes 'filter' one for what a client sends from the beginning. */
void
grpc_filter_init(struct grpc_filter *filter)
{
    *filter = (struct grpc_filter){ .n_pass = PREFACE_LEN };
}

static uint32_t
get_u32__(const uint8_t *p)
{
    return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8
           | p[3];
}

static uint32_t
get_stream__(const struct grpc_filter *filter)
{
    return get_u32__(&filter->frame[5]) & 0x7fffffff;
}

/* Decides about the frame whose header is there, and perhaps more of it.
 * Returns true if more has to be seen first. */
static bool
look__(struct grpc_filter *filter, enum grpc_filter_verdict *verdict)
{
    uint32_t length = get_u32__(filter->frame) >> 8;
    uint32_t stream = get_stream__(filter);
    uint8_t type = filter->frame[3];
    bool idle = stream % 2 && stream > filter->last_stream;

    if (type == FRAME_RESET && length == RESET_LEN && idle) {
        *verdict = GRPC_FILTER_DROP;
        return filter->n_frame < HEADER_LEN + RESET_LEN;
    }
    if (type == FRAME_HEADERS && idle) {
        filter->last_stream = stream;
    }
    filter->n_pass = length;
    *verdict = GRPC_FILTER_PASS;
    return false;
}

/* Takes bytes from the '*n' at '*data', at least one, and moves both on.
 *
 * Returns GRPC_FILTER_PASS if the '*n_out' bytes at '*out' are to be taken in,
 * which stay until the next call; GRPC_FILTER_DROP if a reset of nothing was
 * left out; or GRPC_FILTER_WAIT if that is not decided yet. */
enum grpc_filter_verdict
grpc_filter_next(struct grpc_filter *filter, const uint8_t **data, size_t *n,
                 const uint8_t **out, size_t *n_out)
{
    enum grpc_filter_verdict verdict;

    if (filter->n_pass) {
        *out = *data;
        *n_out = *n < filter->n_pass ? *n : filter->n_pass;
        filter->n_pass -= *n_out;
        *data += *n_out;
        *n -= *n_out;
        return GRPC_FILTER_PASS;
    }
    filter->frame[filter->n_frame++] = *(*data)++;
    --*n;
    if (filter->n_frame < HEADER_LEN || look__(filter, &verdict)) {
        return GRPC_FILTER_WAIT;
    }
    *out = filter->frame;
    *n_out = filter->n_frame;
    filter->n_frame = 0;
    return verdict;
}
