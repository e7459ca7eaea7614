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
#include <sys/types.h>

#include "controller/core/instance.h"
#include "controller/log.h"
#include "controller/tls.h"

#define ADMIN_SOCKET "/run/evlb/evlbd.sock"
#define ADMIN_NO_GROUP ((gid_t) -1)

/* Where the operator asks. */
struct admin_settings {
    char *socket; /* Empty for none. */
    bool asked;   /* Is 'socket' what the file says? */
    gid_t group;  /* Whose members may, too; or ADMIN_NO_GROUP. */
};

struct evlb_config {
    char *file;
    char **listen; /* Where switches connect. */
    size_t n_listen;
    struct tls_files tls; /* For those of TLS. */
    bool primary;         /* Ask switches to be their primary controller? */
    unsigned int slow_path_limit;  /* Packets a second, 0 for no limit of */
    unsigned int controller_limit; /* ours. */
    struct admin_settings admin;
    struct log_settings log;
    char *state_file; /* Empty for none, NULL if the file does not say. */
    struct state state;
};

char *evlb_config_load(const char *file, struct evlb_config **);
void evlb_config_destroy(struct evlb_config *);

#endif /* config.h */
