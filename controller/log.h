/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_LOG_H
#define EVLB_LOG_H 1

/* Where messages go: Open vSwitch's vlog, which our modules use too, set up
 * for a daemon that a service manager runs.
 *
 * Messages of level info and above go to standard error, one line each:
 *
 *     TIME LEVEL MODULE MESSAGE
 *
 * Levels can be set by module, in vlog's own syntax:
 * "dbg", "evlb_session:dbg", "evlb_server:off". */

void log_init(void);
char *log_set_levels(const char *levels);

#endif /* log.h */
