/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONFIG_H
#define EVLB_CONFIG_H 1

/* The configuration file of evlbd.
 *
 * A struct evlb_config is read and checked as a whole, and does not change after
 * that: another one takes its place.  docs/configuration.md describes the
 * file. */

#include <stdbool.h>
#include <stddef.h>

#include "controller/core/instance.h"
#include "controller/log.h"

struct evlb_config {
    char *file;
    char **listen; /* Where switches connect. */
    size_t n_listen;
    struct log_settings log;
    struct state state;
};

char *evlb_config_load(const char *file, struct evlb_config **);
void evlb_config_destroy(struct evlb_config *);

#endif /* config.h */
