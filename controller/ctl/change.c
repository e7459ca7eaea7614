/* SPDX-License-Identifier: Apache-2.0 */

/* Commands that change something. */

#include "controller/ctl/ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/api/admin.pb-c.h"
#include "controller/core/mem.h"

/* Parses 's', decimal or hexadecimal, which must be at most 'max', into
 * '*value'.  Returns false if it is anything else. */
static bool
parse_number__(const char *s, uint64_t max, uint64_t *value)
{
    char *end;

    if (*s < '0' || *s > '9') {
        return false;
    }
    errno = 0;
    *value = strtoull(s, &end, s[0] == '0' && s[1] == 'x' ? 16 : 10);
    return !errno && !*end && *value <= max;
}

static bool
parse_u32__(const char *s, uint32_t *value)
{
    uint64_t number;
    bool ok = parse_number__(s, UINT32_MAX, &number);

    *value = ok ? (uint32_t) number : 0;
    return ok;
}

/* Makes the boundary that the options ask for. */
static int
parse_boundary__(const struct ctl *ctl, Evlb__Admin__V1__Boundary *b)
{
    evlb__admin__v1__boundary__init(b);
    b->automatic = !ctl->at_event;
    b->force = ctl->force;
    if (ctl->at_event
        && !parse_number__(ctl->at_event, UINT64_MAX, &b->at_event)) {
        return ctl_usage_error("--at-event: \"%s\" is no tick, a number from "
                               "0 to %" PRIu64,
                               ctl->at_event, UINT64_MAX);
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

/* Parses 's', "MEMBER=WEIGHT", into '*share'. */
static int
parse_share__(const char *s, Evlb__Admin__V1__Share *share)
{
    char *copy = mem_strdup(s);
    char *weight = strchr(copy, '=');
    bool ok = weight != NULL;

    evlb__admin__v1__share__init(share);
    if (ok) {
        *weight++ = '\0';
        ok = parse_u32__(copy, &share->member)
             && parse_u32__(weight, &share->weight);
    }
    free(copy);
    return (
        ok ? CTL_OK
           : ctl_usage_error("\"%s\" is not MEMBER=WEIGHT, such as 4=1", s));
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
    return (parse_u32__(s, member)
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

/* The properties that "lb add" takes. */
struct property {
    const char *name;
    uint32_t *number; /* Where it goes: a number, */
    char **string;    /* or a string. */
    bool required;
    bool given;
};

/* Stores 's', "NAME=VALUE", where the one of the 'n' 'properties' that it names
 * says. */
static int
parse_property__(char *s, struct property *properties, size_t n)
{
    char *value = strchr(s, '=');

    for (size_t i = 0; value && i < n; i++) {
        struct property *p = &properties[i];

        if (strlen(p->name) != (size_t) (value - s)
            || strncmp(p->name, s, strlen(p->name))) {
            continue;
        }
        p->given = true;
        if (p->string) {
            *p->string = value + 1;
        } else if (!parse_u32__(value + 1, p->number)) {
            return ctl_usage_error("\"%s\" needs a number", s);
        }
        return CTL_OK;
    }
    return ctl_usage_error("\"%s\" is no property of a member", s);
}

/* lb add INSTANCE NAME=VALUE... */
int
ctl_run_add(struct ctl *ctl, const struct ctl_command *command, int argc,
            char *argv[])
{
    Evlb__Admin__V1__AddMemberRequest r =
        EVLB__ADMIN__V1__ADD_MEMBER_REQUEST__INIT;
    struct property properties[] = {
        { "id", &r.id, NULL, true, false },
        { "ip", NULL, &r.ip, true, false },
        { "base", &r.first_port, NULL, true, false },
        { "mac", NULL, &r.mac, false, false },
        { "bits", &r.bits, NULL, false, false },
        { "egress", NULL, &r.egress, false, false },
    };
    const size_t n = sizeof properties / sizeof *properties;
    int code = CTL_OK;

    r.instance = argv[0];
    for (int i = 1; code == CTL_OK && i < argc; i++) {
        if (!strcmp(argv[i], "keep")) {
            r.keep = true;
        } else {
            code = parse_property__(argv[i], properties, n);
        }
    }
    for (size_t i = 0; code == CTL_OK && i < n; i++) {
        if (properties[i].required && !properties[i].given) {
            code = ctl_usage_error("%s= is missing", properties[i].name);
        }
    }
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
