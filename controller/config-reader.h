/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONFIG_READER_H
#define EVLB_CONFIG_READER_H 1

/* Typed access to the settings of a libconfig file.
 *
 * A reader keeps the first error, with the file, the line and the name of the
 * setting, and from then on does nothing and returns zeros, so that its caller
 * checks once, at the end of a loop or of everything. */

#include <stdbool.h>
#include <stdint.h>

#include <libconfig.h>

struct reader {
    const char *file; /* Of the configuration. */
    char *error;      /* The first error, or NULL. */
};

void reader_fail(struct reader *, const config_setting_t *, const char *format,
                 ...) __attribute__((__format__(printf, 3, 4)));

void reader_check_names(struct reader *, const config_setting_t *,
                        const char *const names[]);

void reader_check_list(struct reader *, const config_setting_t *);

/* Members of a group.  Those of reader_get_*() must be there, and those of
 * reader_find_*() need not. */
const config_setting_t *
reader_get_setting(struct reader *, const config_setting_t *,
                   const char *name);
const config_setting_t *
reader_find_list(struct reader *, const config_setting_t *, const char *name);
uint64_t reader_get_uint(struct reader *, const config_setting_t *,
                         const char *name, uint64_t min, uint64_t max);
uint64_t
reader_find_uint(struct reader *, const config_setting_t *, const char *name,
                 uint64_t min, uint64_t max, uint64_t otherwise);
double
reader_find_double(struct reader *, const config_setting_t *, const char *name,
                   double min, double max, double otherwise);
const char *
reader_get_string(struct reader *, const config_setting_t *, const char *name);
bool reader_find_bool(struct reader *, const config_setting_t *,
                      const char *name, bool otherwise);
int
reader_find_choice(struct reader *, const config_setting_t *, const char *name,
                   const char *const choices[], int otherwise);

/* Values themselves. */
uint64_t reader_to_uint(struct reader *, const config_setting_t *,
                        uint64_t min, uint64_t max);
const char *reader_to_string(struct reader *, const config_setting_t *);
int reader_line(const config_setting_t *);
size_t reader_length(const config_setting_t *);

#endif /* config-reader.h */
