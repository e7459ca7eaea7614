/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ENDPOINTS_OWNED_H
#define ENDPOINTS_OWNED_H 1

/* Which events are a compute node's own, by evlbd's log of epochs.
 *
 * evlbd appends a line to the log for each epoch that a switch has committed,
 * before the first event of the epoch.  The log is read as it grows: what
 * owned_refresh() finds new holds from then on.  An epoch of a tick that is
 * there already takes the place of the other. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct owned;

struct owned *
owned_create(const char *file, const char *instance, uint16_t member);
void owned_destroy(struct owned *);

char *owned_refresh(struct owned *);
char *owned_add_line(struct owned *, const char *line);
size_t owned_n_epochs(const struct owned *);
bool owned_has(const struct owned *, uint64_t tick, uint16_t selector);

#endif /* endpoints/owned.h */
