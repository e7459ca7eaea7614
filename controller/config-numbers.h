/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_CONFIG_NUMBERS_H
#define EVLB_CONFIG_NUMBERS_H 1

/* Numbers that the library which reads configurations would cut off.
 *
 * libconfig 1.5 keeps a number without "L" behind it in 32 bits and drops the
 * others silently, so that 4294967296 becomes 0.  Only the text of a file shows
 * this. */

#include <stddef.h>

#include <libconfig.h>

char *config_numbers_check_text(const char *text, int *line);
char *config_numbers_check(const config_setting_t *root, const char *file);

#endif /* config-numbers.h */
