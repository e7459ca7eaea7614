/* SPDX-License-Identifier: Apache-2.0 */

#ifndef EVLB_ISSUE_H
#define EVLB_ISSUE_H 1

/* What is wrong with an instance or a worker, for people to see: a type that
 * scripts may compare, how bad it is, and a sentence. */

#include <stddef.h>
#include <stdint.h>

/*            SEVERITY  word */
#define ISSUE_SEVERITIES               \
    ISSUE_SEVERITY(WARNING, "warning") \
    ISSUE_SEVERITY(ERROR, "error")

enum issue_severity {
#define ISSUE_SEVERITY(SEVERITY, WORD) ISSUE_##SEVERITY,
    ISSUE_SEVERITIES
#undef ISSUE_SEVERITY
};

struct issue {
    const char *type; /* A constant, such as "no_sync". */
    enum issue_severity severity;
    uint64_t session; /* Of which worker, or 0. */
    char *message;
    int64_t since; /* In ms since 1970. */
};

/* Issues that there are at the same time. */
struct issues {
    struct issue *issues;
    size_t n;
    size_t allocated;
};

void issues_init(struct issues *);
void issues_destroy(struct issues *);
void issues_add(struct issues *, const char *type, enum issue_severity,
                uint64_t session, const char *format, ...)
    __attribute__((__format__(printf, 5, 6)));
void issues_replace(struct issues *, struct issues *newer, int64_t now);
const char *issue_severity_to_string(enum issue_severity);

#endif /* issue.h */
