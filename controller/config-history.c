/* SPDX-License-Identifier: Apache-2.0 */

/* What is kept of the past, in the configuration. */

#include "controller/config-parse.h"

#include "controller/store/series.h"

#define MAX_AGE_DEFAULT 168   /* Hours: a week. */
#define MAX_AGE_MAX 87600     /* Ten years. */
#define MAX_SIZE_DEFAULT 1024 /* Megabytes. */
#define MAX_SIZE_MAX (1 << 20)

void
parse_history(struct reader *r, const config_setting_t *root,
              struct series_limits *limits)
{
    static const char *const names[] = { "max_age", "max_size", NULL };
    const config_setting_t *group = config_setting_get_member(root, "history");
    uint64_t hours = MAX_AGE_DEFAULT;
    uint64_t megabytes = MAX_SIZE_DEFAULT;

    if (group) {
        reader_check_names(r, group, names);
        hours = reader_find_uint(r, group, "max_age", 0, MAX_AGE_MAX,
                                 MAX_AGE_DEFAULT);
        megabytes = reader_find_uint(r, group, "max_size", 1, MAX_SIZE_MAX,
                                     MAX_SIZE_DEFAULT);
    }
    limits->max_age = (int64_t) hours * 3600 * 1000;
    limits->max_size = megabytes << 20;
}
