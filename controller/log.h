/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_LOG_H
#define EVLB_LOG_H 1

/* Where messages go: Open vSwitch's vlog, which our modules use too, set up
 * for a daemon that a service manager runs.
 *
 * Each message has a time, a level (emer, err, warn, info, dbg), the module
 * that it comes from, and is one line:
 *
 *     TIME LEVEL MODULE MESSAGE
 *
 * It goes to standard error, and if that is asked for also to a file and to
 * syslog.  If standard error is the journal of systemd, messages go there
 * through syslog's socket instead, so that the journal has their levels.
 *
 * What the configuration asks for and what the command line asks for are two
 * struct log_settings, and log_apply() combines them: the command line's come
 * last, so that they win. */

#include <stdbool.h>
#include <stddef.h>

struct vlog_module;

struct log_level {
    struct vlog_module *module; /* NULL for all modules. */
    int level;                  /* An enum vlog_level. */
};

struct log_settings {
    struct log_level *levels; /* Later ones win. */
    size_t n_levels;
    size_t allocated_levels;
    char *file;  /* Name of a file to append to, or NULL. */
    bool syslog; /* Send messages to syslog? */
};

void log_init(void);
char *log_apply(const struct log_settings *config,
                const struct log_settings *options);
char *log_reopen(void);

void log_settings_destroy(struct log_settings *);
char *log_settings_add_level(struct log_settings *, const char *spec);

#endif /* log.h */
