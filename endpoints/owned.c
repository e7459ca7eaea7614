/* SPDX-License-Identifier: Apache-2.0 */

#include "endpoints/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoints/util.h"
#include "endpoints/wire.h"

#define MAX_BITS 9

/* An epoch, from the node's point of view. */
struct epoch {
    uint64_t first;           /* Its first tick. */
    unsigned int bits;        /* 2**'bits' slots. */
    uint16_t xor ;            /* For the slot selector. */
    bool mine[1 << MAX_BITS]; /* Which slots are the node's. */
};

struct owned {
    const char *file;     /* Log of epochs, borrowed. */
    char *mark;           /* What a line of the instance has in it. */
    uint16_t member;      /* The node's number. */
    long int read;        /* Bytes of the log that were read. */
    unsigned int n_lines; /* Lines of it that were read. */
    struct epoch *epochs; /* By 'first'. */
    size_t n_epochs;      /* Number of 'epochs'. */
};

/* Returns what is known of the events of member 'member' of 'instance' from
 * 'file', which is borrowed and need not be there yet: nothing.  The caller
 * frees it with owned_destroy(). */
struct owned *
owned_create(const char *file, const char *instance, uint16_t member)
{
    struct owned *owned = xcalloc(1, sizeof *owned);

    owned->file = file;
    owned->mark = xasprintf("\"instance\": \"%s\",", instance);
    owned->member = member;
    return owned;
}

void
owned_destroy(struct owned *owned)
{
    if (owned) {
        free(owned->mark);
        free(owned->epochs);
        free(owned);
    }
}

size_t
owned_n_epochs(const struct owned *owned)
{
    return owned->n_epochs;
}

/* Returns what follows the member 'name' of the object in 'line', or NULL. */
static const char *
find_value(const char *line, const char *name)
{
    char *key = xasprintf("\"%s\": ", name);
    const char *value = strstr(line, key);

    value = value ? value + strlen(key) : NULL;
    free(key);
    return value;
}

/* Parses a number up to 'max' at '*p', and moves '*p' behind it. */
static bool
parse_number(const char **p, uint64_t max, uint64_t *number)
{
    char *end;

    if (**p < '0' || **p > '9') {
        return false;
    }
    errno = 0;
    *number = strtoull(*p, &end, 10);
    *p = end;
    return !errno && *number <= max;
}

static bool
find_number(const char *line, const char *name, uint64_t max, uint64_t *number)
{
    const char *p = find_value(line, name);

    return p && parse_number(&p, max, number);
}

/* Parses the members of the slots of 'epoch', "[1, 2, ...]". */
static bool
parse_slots(const char *p, uint16_t member, struct epoch *epoch)
{
    for (size_t i = 0; i < (size_t) 1 << epoch->bits; i++) {
        const char *before = i ? ", " : "[";
        uint64_t slot;

        if (strncmp(p, before, strlen(before))) {
            return false;
        }
        p += strlen(before);
        if (!parse_number(&p, UINT16_MAX, &slot)) {
            return false;
        }
        epoch->mine[i] = slot == member;
    }
    return *p == ']';
}

static bool
parse_epoch(const char *line, uint16_t member, struct epoch *epoch)
{
    const char *slots = find_value(line, "slots");
    uint64_t bits, xor;

    if (!slots || !find_number(line, "from", UINT64_MAX, &epoch->first)
        || !find_number(line, "bits", MAX_BITS, &bits)
        || !find_number(line, "xor", UINT16_MAX, &xor)) {
        return false;
    }
    epoch->bits = bits;
    epoch->xor = xor;
    return parse_slots(slots, member, epoch);
}

/* Returns how many epochs begin at 'tick' or before. */
static size_t
count_begun(const struct owned *owned, uint64_t tick)
{
    size_t n = owned->n_epochs;

    while (n && owned->epochs[n - 1].first > tick) {
        n--;
    }
    return n;
}

static void
insert(struct owned *owned, const struct epoch *epoch)
{
    size_t at = count_begun(owned, epoch->first);
    struct epoch *epochs;

    if (at && owned->epochs[at - 1].first == epoch->first) {
        owned->epochs[at - 1] = *epoch;
        return;
    }
    epochs = xcalloc(owned->n_epochs + 1, sizeof *epochs);
    if (owned->n_epochs) {
        memcpy(epochs, owned->epochs, at * sizeof *epochs);
        memcpy(epochs + at + 1, owned->epochs + at,
               (owned->n_epochs - at) * sizeof *epochs);
    }
    epochs[at] = *epoch;
    free(owned->epochs);
    owned->epochs = epochs;
    owned->n_epochs++;
}

/* Takes a line of the log.  Returns NULL, also if it is about another
 * instance, or an error that says where it is, which the caller frees. */
char *
owned_add_line(struct owned *owned, const char *line)
{
    struct epoch epoch;

    owned->n_lines++;
    if (!strstr(line, owned->mark)) {
        return NULL;
    } else if (!parse_epoch(line, owned->member, &epoch)) {
        return xasprintf("%s:%u: this is no epoch as evlbd logs them",
                         owned->file, owned->n_lines);
    }
    insert(owned, &epoch);
    return NULL;
}

/* Reads what is new in the log, but for a line that is not finished.  Returns
 * NULL or an error, which the caller frees. */
char *
owned_refresh(struct owned *owned)
{
    FILE *file = fopen(owned->file, "re");
    char *line = NULL, *error = NULL;
    size_t size = 0;
    ssize_t n;

    if (!file) {
        return (errno == ENOENT
                    ? NULL
                    : xasprintf("%s: %s", owned->file, strerror(errno)));
    }
    if (fseek(file, owned->read, SEEK_SET)) {
        error = xasprintf("%s: %s", owned->file, strerror(errno));
    }
    while (!error && (n = getline(&line, &size, file)) > 0
           && line[n - 1] == '\n') {
        owned->read += n;
        error = owned_add_line(owned, line);
    }
    free(line);
    fclose(file);
    return error;
}

/* Returns true if events of 'tick' and slot selector 'selector' are the
 * node's, as far as is known: also if 'tick' is before all epochs. */
bool
owned_has(const struct owned *owned, uint64_t tick, uint16_t selector)
{
    size_t n = count_begun(owned, tick);
    const struct epoch *epoch;

    if (!n) {
        return true;
    }
    epoch = &owned->epochs[n - 1];
    return epoch->mine[wire_slot(selector, epoch->xor, epoch->bits)];
}
