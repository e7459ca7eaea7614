/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_REGISTRATION_H
#define ENDPOINTS_REGISTRATION_H 1

/* A worker's registration in the control plane, and its reports: what
 * worker.h decides, done.
 *
 * It needs no thread: registration_run() is called at least each 'wakeup', and
 * returns at once. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoints/address.h"
#include "endpoints/api-options.h"
#include "endpoints/control.h"
#include "endpoints/worker.h"
#include "lib/slot-ranges.h"

struct json;
struct registration;

struct registration_config {
    const char *name;
    double weight;
    double min_factor;
    double max_factor;        /* 0 for none. */
    union address address;    /* Where events are to go, with its port. */
    unsigned int port_bits;   /* 2**'port_bits' ports from there on. */
    bool keep;                /* Shall the LB header stay? */
    struct slot_ranges slots; /* That the worker demands. */
    struct worker_config worker;
    struct control_config control;
};

/* The state of a worker, as it is reported. */
struct registration_sample {
    double fill;              /* Of its queue, 0 to 1. */
    int64_t last_packet;      /* When it came. */
    uint64_t events;          /* Of which a segment came. */
    uint64_t reassembled;     /* Whole ones. */
    uint64_t reassembly_errs; /* Given up. */
    uint64_t dequeued;        /* Taken by the node's own processing. */
    uint64_t enqueue_errs;    /* Lost as the queue was full. */
    uint64_t bytes;
    uint64_t packets;
};

/* 'quiet': say nothing on standard error unless something is wrong.  The
 * configuration and the options are borrowed. */
struct registration *
registration_create(const struct registration_config *,
                    const struct api_options *, bool quiet, int64_t now);
void registration_destroy(struct registration *);

char *registration_run(struct registration *, int64_t now,
                       const struct registration_sample *);
void registration_stop(struct registration *, int64_t now);
bool registration_is_over(const struct registration *);
int64_t registration_wakeup(const struct registration *);

void registration_report_json(const struct registration *, struct json *);

#endif /* endpoints/registration.h */
