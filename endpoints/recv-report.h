/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_RECV_REPORT_H
#define ENDPOINTS_RECV_REPORT_H 1

/* The report at the end of a receiver's run, on standard output. */

#include "endpoints/intake.h"
#include "endpoints/receiver.h"
#include "endpoints/recv-config.h"
#include "endpoints/registration.h"
#include "endpoints/work.h"

/* What the report is about; all borrowed. */
struct recv_report {
    const struct recv_config *config;        /* What was asked for. */
    const struct receiver *receiver;         /* Counters of ports. */
    const struct intake *intake;             /* All other counters. */
    const struct work *work;                 /* Counters of processing. */
    const struct registration *registration; /* Or NULL. */
    double seconds;    /* From the first packet to the last. */
    const char *error; /* What ended the run, or NULL. */
};

void recv_report_json(const struct recv_report *);
void recv_report_text(const struct recv_report *);

#endif /* endpoints/recv-report.h */
