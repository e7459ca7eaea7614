/* SPDX-License-Identifier: Apache-2.0 */

#include "controller/store/overlay-record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/core/calendar.h"
#include "controller/core/mem.h"

/* Words of enum port_type. */
static const char *const port_words[] = {
    [PORT_NONE] = "none", [PORT_ANY] = "any",       [PORT_IN] = "in_port",
    [PORT_SEEN] = "seen", [PORT_NORMAL] = "normal", [PORT_NUMBER] = "number",
    [PORT_NAME] = "name",
};
#define N_PORT_WORDS (sizeof port_words / sizeof port_words[0])

/* Returns the key of the record of 'instance', which the caller must free. */
char *
overlay_record_key(uint16_t instance)
{
    return mem_printf(OVERLAY_RECORD_PREFIX "%" PRIu16, instance);
}

/* Writing. */

static void
format_member__(FILE *stream, const struct member *m)
{
    char ip[ADDR_STRLEN], mac[MAC_STRLEN];

    addr_to_string(&m->ip, ip);
    mac_to_string(&m->mac, mac);
    fprintf(stream,
            "member %" PRIu16 " %s %s %" PRIu16 " %" PRIu8 " %d %s %" PRIu32
            " %s\n",
            m->id, ip, mac, m->base, m->bits, m->keep,
            port_words[m->egress.type], m->egress.number, m->egress.name);
}

static void
format_epoch__(FILE *stream, const struct epoch *epoch)
{
    const struct calendar *calendar = epoch->calendar;

    fprintf(stream, "epoch %" PRIu16 " %" PRIu64 " %" PRIu16 " %" PRIu8 "\n",
            epoch->id, epoch->first, epoch->xor, calendar->bits);
    for (size_t i = 0; i < calendar->n_shares; i++) {
        const struct calendar_share *share = &calendar->shares[i];

        fprintf(stream, "share %" PRIu16 " %" PRIu32 " %.17g %.17g\n",
                share->member, share->weight, share->min_factor,
                share->max_factor);
    }
    if (calendar->shuffled) {
        fprintf(stream, "seed %" PRIu64 "\n", calendar->seed);
    }
    fputs("slots", stream);
    for (size_t i = 0; i < calendar_n_slots(calendar); i++) {
        fprintf(stream, " %" PRIu16, calendar->members[i]);
    }
    putc('\n', stream);
}

/* Writes what only instances that are reserved have. */
static void
format_reserved__(FILE *stream, const struct overlay_instance *o)
{
    char ip[ADDR_STRLEN];

    if (o->generation) {
        fprintf(stream, "generation %" PRIu64 " %" PRIu16 "\n", o->generation,
                o->last_epoch);
    }
    for (size_t i = 0; i < o->n_carriers; i++) {
        fprintf(stream, "carrier %" PRIu64 "\n", o->carriers[i]);
    }
    for (size_t i = 0; i < o->n_sources; i++) {
        addr_to_string(&o->sources[i], ip);
        fprintf(stream, "source %s\n", ip);
    }
    if (o->chained) {
        fputs("chained\n", stream);
    }
}

/* Returns the value of the record of 'o', which the caller must free. */
char *
overlay_record_format(const struct overlay_instance *o)
{
    char *value;
    size_t size;
    FILE *stream = open_memstream(&value, &size);

    if (!stream) {
        abort();
    }
    fprintf(stream, "oldest %" PRIu64 "\n", o->oldest);
    format_reserved__(stream, o);
    for (size_t i = 0; i < o->n_members; i++) {
        format_member__(stream, &o->members[i]);
    }
    for (size_t i = 0; i < o->epochs.n; i++) {
        format_epoch__(stream, o->epochs.epochs[i]);
    }
    fclose(stream);
    return value;
}

/* Reading.  A line is taken word by word. */

struct parser {
    struct overlay *overlay;
    uint16_t instance;
    char *words; /* What is left of the line. */
    bool bad;    /* Was a word missing or wrong? */

    /* The epoch that is being read, until its slots come. */
    bool in_epoch;
    struct epoch epoch;
    uint8_t bits;
    struct calendar_share *shares;
    size_t n_shares;
    size_t allocated_shares;
    bool shuffled;
    uint64_t seed;
};

/* Returns the next word of the line, "" if there is none. */
static const char *
next_word__(struct parser *p)
{
    char *word = strtok_r(NULL, " ", &p->words);

    return word ? word : "";
}

static uint64_t
next_number__(struct parser *p, uint64_t max)
{
    const char *word = next_word__(p);
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno || value > max) {
        p->bad = true;
        return 0;
    }
    return value;
}

static double
next_factor__(struct parser *p)
{
    const char *word = next_word__(p);
    char *end;
    double value = strtod(word, &end);

    if (end == word || *end || !(value >= 0 && value <= CALENDAR_FACTOR_MAX)) {
        p->bad = true;
        return 0;
    }
    return value;
}

static void
parse_egress__(struct parser *p, struct port *port)
{
    const char *type = next_word__(p);
    size_t i = 0;

    while (i < N_PORT_WORDS && strcmp(port_words[i], type)) {
        i++;
    }
    if (i == N_PORT_WORDS) {
        p->bad = true;
        return;
    }
    port->type = (enum port_type) i;
    port->number = (uint32_t) next_number__(p, UINT32_MAX);
    if (strlen(p->words) >= sizeof port->name) {
        p->bad = true;
        return;
    }
    snprintf(port->name, sizeof port->name, "%s", p->words); /* With blanks. */
}

static char *
parse_member__(struct parser *p)
{
    struct member m = { .id = 0 };

    m.id = (uint16_t) next_number__(p, CALENDAR_NO_MEMBER - 1);
    p->bad = !addr_from_string(next_word__(p), &m.ip) || p->bad;
    p->bad = !mac_from_string(next_word__(p), &m.mac) || p->bad;
    m.base = (uint16_t) next_number__(p, UINT16_MAX);
    m.bits = (uint8_t) next_number__(p, MEMBER_BITS_MAX);
    m.keep = next_number__(p, 1);
    parse_egress__(p, &m.egress);
    if (!p->bad) {
        overlay_add_member(p->overlay, p->instance, &m);
    }
    return NULL;
}

static char *
parse_oldest__(struct parser *p)
{
    overlay_retire(p->overlay, p->instance, next_number__(p, UINT64_MAX));
    return NULL;
}

static char *
parse_generation__(struct parser *p)
{
    uint64_t generation = next_number__(p, UINT64_MAX);

    overlay_set_generation(p->overlay, p->instance, generation,
                           (uint16_t) next_number__(p, UINT16_MAX));
    return NULL;
}

static char *
parse_carrier__(struct parser *p)
{
    overlay_add_carrier(p->overlay, p->instance, next_number__(p, UINT64_MAX));
    return NULL;
}

static char *
parse_source__(struct parser *p)
{
    struct in6_addr addr;

    if (addr_from_string(next_word__(p), &addr)) {
        overlay_add_source(p->overlay, p->instance, &addr);
    } else {
        p->bad = true;
    }
    return NULL;
}

static char *
parse_chained__(struct parser *p)
{
    overlay_set_chained(p->overlay, p->instance);
    return NULL;
}

static char *
parse_epoch__(struct parser *p)
{
    p->epoch.id = (uint16_t) next_number__(p, UINT16_MAX);
    p->epoch.first = next_number__(p, UINT64_MAX);
    p->epoch.xor = (uint16_t) next_number__(p, UINT16_MAX);
    p->bits = (uint8_t) next_number__(p, CALENDAR_BITS_MAX);
    p->n_shares = 0;
    p->shuffled = false;
    p->bad = p->bad || p->in_epoch;
    p->in_epoch = true;
    return NULL;
}

static char *
parse_share__(struct parser *p)
{
    struct calendar_share share = { .member = 0 };

    share.member = (uint16_t) next_number__(p, CALENDAR_NO_MEMBER - 1);
    share.weight = (uint32_t) next_number__(p, UINT32_MAX);
    share.min_factor = next_factor__(p);
    share.max_factor = next_factor__(p);
    p->bad = p->bad || !p->in_epoch;
    if (p->n_shares >= p->allocated_shares) {
        p->shares =
            mem_grow(p->shares, &p->allocated_shares, sizeof *p->shares);
    }
    p->shares[p->n_shares++] = share;
    return NULL;
}

static char *
parse_seed__(struct parser *p)
{
    p->seed = next_number__(p, UINT64_MAX);
    p->bad = p->bad || !p->in_epoch || p->shuffled;
    p->shuffled = true;
    return NULL;
}

/* The slots come last, so the epoch is connected now. */
static char *
parse_slots__(struct parser *p)
{
    uint16_t members[CALENDAR_SLOTS_MAX];
    const struct calendar *calendar;
    char *error;

    for (size_t i = 0; i < (size_t) 1 << p->bits; i++) {
        members[i] = (uint16_t) next_number__(p, UINT16_MAX);
    }
    if (p->bad || !p->in_epoch) {
        p->bad = true;
        return NULL;
    }
    calendar = calendar_restore(p->shares, p->n_shares, p->bits, members,
                                p->shuffled ? &p->seed : NULL);
    error = overlay_connect(p->overlay, p->instance, p->epoch.id,
                            p->epoch.first, p->epoch.xor, calendar);
    calendar_unref(calendar);
    p->in_epoch = false;
    return error;
}

static char *
parse_line__(struct parser *p, char *line)
{
    static const struct {
        const char *word;
        char *(*parse)(struct parser *);
    } kinds[] = {
        { "oldest", parse_oldest__ }, { "member", parse_member__ },
        { "epoch", parse_epoch__ },   { "share", parse_share__ },
        { "slots", parse_slots__ },   { "generation", parse_generation__ },
        { "source", parse_source__ }, { "carrier", parse_carrier__ },
        { "seed", parse_seed__ },     { "chained", parse_chained__ },
    };
    const char *word = strtok_r(line, " ", &p->words);

    for (size_t i = 0; word && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!strcmp(kinds[i].word, word)) {
            char *error = kinds[i].parse(p);

            p->bad = p->bad || (kinds[i].parse != parse_member__ && *p->words);
            return error;
        }
    }
    p->bad = true;
    return NULL;
}

/* Parses the lines of 'text', which is modified. */
static char *
parse_lines__(struct parser *p, const char *key, char *text)
{
    char *error = NULL;
    char *rest = text;
    int n = 0;

    while (!error && rest && *rest) {
        char *line = strsep(&rest, "\n");

        n++;
        error = parse_line__(p, line);
        if (!error && p->bad) {
            error = mem_strdup("is not what evlbd writes");
        }
        if (error) {
            char *reason = error;

            error = mem_printf("record %s, line %d: %s", key, n, reason);
            free(reason);
        }
    }
    if (!error && p->in_epoch) {
        error = mem_printf("record %s: an epoch lacks its slots", key);
    }
    return error;
}

/* Stores in '*instance' the one whose record 'key' is. */
static bool
parse_key__(const char *key, uint16_t *instance)
{
    const char *digits = key + strlen(OVERLAY_RECORD_PREFIX);
    unsigned long value;
    char *end;

    if (strncmp(key, OVERLAY_RECORD_PREFIX, strlen(OVERLAY_RECORD_PREFIX))
        || *digits < '0' || *digits > '9') {
        return false;
    }
    value = strtoul(digits, &end, 10);
    *instance = (uint16_t) value;
    return !*end && value <= INSTANCE_ID_MAX;
}

/* Puts into 'overlay' what the record of 'key' and 'value' says.  Returns NULL,
 * or an error, which the caller must free. */
char *
overlay_record_parse(struct overlay *overlay, const char *key,
                     const char *value)
{
    struct parser p = { .overlay = overlay };
    char *error, *text;

    if (!parse_key__(key, &p.instance)) {
        return mem_printf("record \"%s\" is none of evlbd's", key);
    }
    text = mem_strdup(value);
    error = parse_lines__(&p, key, text);
    free(text);
    free(p.shares);
    return error;
}
