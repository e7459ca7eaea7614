/* SPDX-License-Identifier: Apache-2.0 */

/* Commands that change something. */

#include "controller/ctl/ctl.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/admin.pb-c.h"
#include "controller/core/mem.h"

/* Makes the boundary that the options ask for. */
static int
parse_boundary__(const struct ctl *ctl, Evlb__Admin__V1__Boundary *b)
{
    const char *at_event = ctl_get(ctl, CTL_OPT_AT_EVENT);

    evlb__admin__v1__boundary__init(b);
    b->automatic = !at_event;
    b->force = ctl_has(ctl, CTL_OPT_FORCE);
    if (at_event && !ctl_parse_number(at_event, UINT64_MAX, &b->at_event)) {
        return ctl_usage_error("--at-event: \"%s\" is no tick, a number from "
                               "0 to %" PRIu64,
                               at_event, UINT64_MAX);
    }
    return CTL_OK;
}

static void
print_change__(const void *reply)
{
    const Evlb__Admin__V1__ChangeReply *r = reply;

    if (r->epoch) {
        printf("%s: epoch %" PRIu32 " begins at tick %" PRIu64 "\n",
               r->instance, r->epoch, r->boundary);
    } else {
        printf("%s: done\n", r->instance);
    }
    if (*r->notes) {
        printf("%s\n", r->notes);
    }
}

/* Parses 's', a factor, which is up to its end, into '*factor'. */
static bool
parse_factor__(const char *s, double *factor)
{
    char *end;

    *factor = strtod(s, &end);
    return *s >= '0' && *s <= '9' && !*end && *factor < HUGE_VAL;
}

/* Parses 'words', MEMBER, WEIGHT, and perhaps factors, into '*share'. */
static bool
parse_words__(char *const words[4], Evlb__Admin__V1__Share *share)
{
    return (words[0] && words[1] && ctl_parse_u32(words[0], &share->member)
            && ctl_parse_u32(words[1], &share->weight)
            && (!words[2] || parse_factor__(words[2], &share->min_factor))
            && (!words[3] || parse_factor__(words[3], &share->max_factor)));
}

/* Parses 's', "MEMBER=WEIGHT[:MIN[:MAX]]", into '*share'. */
static int
parse_share__(const char *s, Evlb__Admin__V1__Share *share)
{
    char *copy = mem_strdup(s);
    char *rest = copy;
    char *words[4];
    bool ok;

    evlb__admin__v1__share__init(share);
    words[0] = strsep(&rest, "=");
    for (size_t i = 1; i < 4; i++) {
        words[i] = strsep(&rest, ":");
    }
    ok = !rest && parse_words__(words, share);
    free(copy);
    return (ok ? CTL_OK
               : ctl_usage_error("\"%s\" is not MEMBER=WEIGHT[:MIN[:MAX]], "
                                 "such as 4=1 or 4=1:0.5:2",
                                 s));
}

/* lb set INSTANCE MEMBER=WEIGHT... */
int
ctl_run_set(struct ctl *ctl, const struct ctl_command *command, int argc,
            char *argv[])
{
    Evlb__Admin__V1__SetEpochRequest r =
        EVLB__ADMIN__V1__SET_EPOCH_REQUEST__INIT;
    Evlb__Admin__V1__Boundary boundary;
    size_t n = (size_t) argc - 1;
    Evlb__Admin__V1__Share *shares = mem_zalloc(n * sizeof *shares);
    void **pointers = mem_zalloc(n * sizeof *pointers);
    int code = parse_boundary__(ctl, &boundary);

    for (size_t i = 0; code == CTL_OK && i < n; i++) {
        code = parse_share__(argv[i + 1], &shares[i]);
        pointers[i] = &shares[i];
    }
    r.instance = argv[0];
    r.boundary = &boundary;
    r.shares = (Evlb__Admin__V1__Share **) pointers;
    r.n_shares = n;
    if (code == CTL_OK) {
        code = ctl_call_print(ctl, command->method, &r.base, print_change__);
    }
    free(pointers);
    free(shares);
    return code;
}

static int
parse_member__(const char *s, uint32_t *member)
{
    return (ctl_parse_u32(s, member)
                ? CTL_OK
                : ctl_usage_error("\"%s\" is no number of a member", s));
}

/* lb drain INSTANCE MEMBER */
int
ctl_run_drain(struct ctl *ctl, const struct ctl_command *command, int argc,
              char *argv[])
{
    Evlb__Admin__V1__DrainRequest r = EVLB__ADMIN__V1__DRAIN_REQUEST__INIT;
    Evlb__Admin__V1__Boundary boundary;
    int code = parse_boundary__(ctl, &boundary);

    (void) argc;
    r.instance = argv[0];
    r.boundary = &boundary;
    if (code == CTL_OK) {
        code = parse_member__(argv[1], &r.member);
    }
    return (code == CTL_OK
                ? ctl_call_print(ctl, command->method, &r.base, print_change__)
                : code);
}

/* lb remove INSTANCE MEMBER */
int
ctl_run_remove(struct ctl *ctl, const struct ctl_command *command, int argc,
               char *argv[])
{
    Evlb__Admin__V1__RemoveMemberRequest r =
        EVLB__ADMIN__V1__REMOVE_MEMBER_REQUEST__INIT;
    int code = parse_member__(argv[1], &r.member);

    (void) argc;
    r.instance = argv[0];
    return (code == CTL_OK
                ? ctl_call_print(ctl, command->method, &r.base, print_change__)
                : code);
}

/* lb add INSTANCE NAME=VALUE... */
int
ctl_run_add(struct ctl *ctl, const struct ctl_command *command, int argc,
            char *argv[])
{
    Evlb__Admin__V1__AddMemberRequest r =
        EVLB__ADMIN__V1__ADD_MEMBER_REQUEST__INIT;
    const struct ctl_property properties[] = {
        { .name = "id", .u32 = &r.id, .required = true },
        { .name = "ip", .string = &r.ip, .required = true },
        { .name = "base", .u32 = &r.first_port, .required = true },
        { .name = "mac", .string = &r.mac },
        { .name = "bits", .u32 = &r.bits },
        { .name = "keep", .flag = &r.keep },
        { .name = "egress", .string = &r.egress },
    };
    int code = ctl_parse_properties(properties,
                                    sizeof properties / sizeof *properties,
                                    argc - 1, argv + 1);

    r.instance = argv[0];
    return (code == CTL_OK
                ? ctl_call_print(ctl, command->method, &r.base, print_change__)
                : code);
}

void
ctl_print_reload(const void *reply)
{
    const Evlb__Admin__V1__ReloadReply *r = reply;

    printf("%s: reloaded\n", r->config_file);
}
