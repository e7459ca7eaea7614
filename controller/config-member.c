/* SPDX-License-Identifier: Apache-2.0 */

/* Members of an instance, and its epochs, in the configuration. */

#include "controller/config-parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

#define MEMBER_ID_MAX (CALENDAR_NO_MEMBER - 1)
#define WEIGHT_MAX 1000000

static void
parse_egress__(struct reader *r, const config_setting_t *group,
               struct port *port)
{
    const config_setting_t *setting =
        r->error ? NULL : config_setting_get_member(group, "egress");

    *port = (struct port){ .type = PORT_SEEN };
    if (setting) {
        parse_port(r, setting, port);
        if (port->type == PORT_NAME) {
            port_from_keyword(port->name, port);
        }
    }
}

/* Is a member with the given 'id' among those of 'instance', which are not
 * sorted yet? */
static bool
is_listed__(const struct instance *instance, uint16_t id)
{
    for (size_t i = 0; i < instance->n_members; i++) {
        if (instance->members[i].id == id) {
            return true;
        }
    }
    return false;
}

/* Checks what 'group' says about 'member' as a whole. */
static void
check_member__(struct reader *r, const config_setting_t *group,
               const struct instance *instance, const struct member *member)
{
    char *error;

    if (r->error) {
        return;
    }
    error = instance_check_member(instance, member);
    if (error) {
        reader_fail(r, group, "%s", error);
        free(error);
    } else if (is_listed__(instance, member->id)) {
        reader_fail(r, group, "member %" PRIu16 " is there twice", member->id);
    }
    check_reachable(r, group, instance, member);
}

static void
parse_member__(struct reader *r, const config_setting_t *group,
               struct instance *instance)
{
    static const char *const names[] = { "id",   "ip",   "mac",    "base",
                                         "bits", "keep", "egress", NULL };
    struct member *m = &instance->members[instance->n_members];
    const config_setting_t *ip;

    reader_check_names(r, group, names);
    m->id = (uint16_t) reader_get_uint(r, group, "id", 0, MEMBER_ID_MAX);
    ip = reader_get_setting(r, group, "ip");
    if (ip) {
        parse_addr(r, ip, &m->ip);
    }
    if (!r->error && config_setting_get_member(group, "mac")) {
        parse_mac(r, group, "mac", &m->mac);
    }
    m->base = (uint16_t) reader_get_uint(r, group, "base", 1, UINT16_MAX);
    m->bits =
        (uint8_t) reader_find_uint(r, group, "bits", 0, MEMBER_BITS_MAX, 0);
    m->keep = reader_find_bool(r, group, "keep", false);
    parse_egress__(r, group, &m->egress);
    m->line = reader_line(group);

    check_member__(r, group, instance, m);
    instance->n_members++;
}

static int
compare_members__(const void *a_, const void *b_)
{
    const struct member *a = a_;
    const struct member *b = b_;

    return (a->id > b->id) - (a->id < b->id);
}

void
parse_members(struct reader *r, const config_setting_t *group,
              struct instance *instance)
{
    const config_setting_t *list = reader_find_list(r, group, "members");
    size_t n = reader_length(list);

    instance->members = mem_zalloc(n * sizeof *instance->members);
    for (size_t i = 0; !r->error && i < n; i++) {
        parse_member__(r, config_setting_get_elem(list, (unsigned int) i),
                       instance);
    }
    qsort(instance->members, instance->n_members, sizeof *instance->members,
          compare_members__);
}

/* Stores in 'share' what 'group', an element of an epoch's members, says. */
static void
parse_share__(struct reader *r, const config_setting_t *group,
              const struct instance *instance, struct calendar_share *share)
{
    static const char *const names[] = { "id", "weight", "min_factor",
                                         "max_factor", NULL };

    reader_check_names(r, group, names);
    share->member =
        (uint16_t) reader_get_uint(r, group, "id", 0, MEMBER_ID_MAX);
    share->weight =
        (uint32_t) reader_find_uint(r, group, "weight", 0, WEIGHT_MAX, 1);
    share->min_factor =
        reader_find_double(r, group, "min_factor", 0, CALENDAR_FACTOR_MAX, 0);
    share->max_factor =
        reader_find_double(r, group, "max_factor", 0, CALENDAR_FACTOR_MAX, 0);
    if (!r->error && !instance_find_member(instance, share->member)) {
        reader_fail(r, group, "the instance has no member %" PRIu16,
                    share->member);
    }
}

/* Returns the calendar of the epoch 'group', or NULL. */
static const struct calendar *
parse_calendar__(struct reader *r, const config_setting_t *group,
                 const struct instance *instance)
{
    uint8_t bits = (uint8_t) reader_find_uint(
        r, group, "bits", 0, CALENDAR_BITS_MAX, CALENDAR_BITS_MAX);
    const config_setting_t *list = reader_find_list(r, group, "members");
    size_t n = reader_length(list);
    const struct calendar *calendar = NULL;
    struct calendar_share *shares;

    if (!list) {
        reader_get_setting(r, group, "members");
    }
    shares = mem_zalloc(n * sizeof *shares);
    for (size_t i = 0; i < n; i++) {
        parse_share__(r, config_setting_get_elem(list, (unsigned int) i),
                      instance, &shares[i]);
    }
    if (!r->error) {
        char *error = calendar_create(shares, n, bits, &calendar);

        if (error) {
            reader_fail(r, group, "%s", error);
            free(error);
        }
    }
    free(shares);
    return calendar;
}

/* Returns the id of the epoch 'group': without one of its own, the one behind
 * the id of the epoch before it. */
static uint16_t
parse_epoch_id__(struct reader *r, const config_setting_t *group,
                 const struct epochs *epochs)
{
    uint16_t last = epochs->n ? epochs->epochs[epochs->n - 1]->id : 0;

    if (last == UINT16_MAX && !config_setting_get_member(group, "id")) {
        reader_fail(r, group,
                    "lacks the setting \"id\", which cannot be "
                    "counted on behind 65535");
    }
    return (uint16_t) reader_find_uint(r, group, "id", 0, UINT16_MAX,
                                       last + 1u);
}

static void
parse_epoch__(struct reader *r, const config_setting_t *group,
              struct instance *instance)
{
    static const char *const names[] = { "id",  "from",    "bits",
                                         "xor", "members", NULL };
    const struct calendar *calendar;
    uint64_t from;
    uint16_t id, xor;

    reader_check_names(r, group, names);
    id = parse_epoch_id__(r, group, &instance->epochs);
    from = reader_get_uint(r, group, "from", 0, UINT64_MAX);
    xor = (uint16_t) reader_find_uint(r, group, "xor", 0, UINT16_MAX, 0);
    calendar = parse_calendar__(r, group, instance);
    if (calendar) {
        char *error =
            epochs_connect(&instance->epochs, id, from, xor, calendar);

        if (error) {
            reader_fail(r, group, "%s", error);
            free(error);
        } else {
            instance->epoch_lines[instance->epochs.n - 1] = reader_line(group);
        }
        calendar_unref(calendar);
    }
}

void
parse_epochs(struct reader *r, const config_setting_t *group,
             struct instance *instance)
{
    const config_setting_t *list = reader_find_list(r, group, "epochs");
    size_t n = reader_length(list);

    instance->epoch_lines = mem_zalloc(n * sizeof *instance->epoch_lines);
    for (size_t i = 0; !r->error && i < n; i++) {
        parse_epoch__(r, config_setting_get_elem(list, (unsigned int) i),
                      instance);
    }
}
