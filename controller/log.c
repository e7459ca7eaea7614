/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/log.h"

#include <stdlib.h>

#include <config.h>
#include <openvswitch/vlog.h>

#include "controller/core/mem.h"

/* Sets up logging; called once, first of all. */
void
log_init(void)
{
    vlog_set_pattern(VLF_CONSOLE, "%D{%Y-%m-%dT%H:%M:%S.###Z} %p %c %m");
    vlog_set_levels(NULL, VLF_CONSOLE, VLL_INFO);
    vlog_set_levels(NULL, VLF_SYSLOG, VLL_OFF);
}

/* Sets the levels in 'levels' for standard error.  Returns NULL if successful,
 * or an error, which the caller must free. */
char *
log_set_levels(const char *levels)
{
    char *spec = mem_printf("console %s", levels);
    char *error = vlog_set_levels_from_string(spec);

    free(spec);
    return error;
}
