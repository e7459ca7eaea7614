/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/pb-json-parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <unicode.h>
#include <openvswitch/json.h>
#include <openvswitch/shash.h>

#include "controller/core/mem.h"
#include "google/protobuf/struct.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "lib/arena.h"
#include "lib/pb-field.h"
#include "lib/rfc3339.h"

/* Names and strings are shown no longer than this in messages. */
#define SHOWN_MAX 40

/* What is not larger is rounded to a float that is finite. */
#define SINGLE_MAX 0x1.fffffefffffffp+127

/* Where in the JSON we are: innermost first. */
struct place {
    const struct place *outer;
    const char *name; /* Of a member, or NULL, and then */
    size_t index;     /* of an element. */
    int depth;
};

struct in {
    struct arena *arena;
    char *error; /* The first one, or NULL. */
};

/* Errors. */

/* Returns how 'place' is written, which the caller must free. */
static char *
place_to_string__(const struct place *place)
{
    char *outer, *s;

    if (!place->outer) {
        return mem_strdup("");
    }
    outer = place_to_string__(place->outer);
    s = (place->name ? mem_printf("%s%s%.*s", outer, *outer ? "." : "",
                                  SHOWN_MAX, place->name)
                     : mem_printf("%s[%zu]", outer, place->index));
    free(outer);
    return s;
}

/* Makes the message in 'format', about 'place', the error of 'in', unless it
 * has one. */
static void fail__(struct in *, const struct place *, const char *format, ...)
    __attribute__((__format__(printf, 3, 4)));

static void
fail__(struct in *in, const struct place *place, const char *format, ...)
{
    char *where, *message;
    va_list args;

    if (in->error) {
        return;
    }
    va_start(args, format);
    if (vasprintf(&message, format, args) < 0) {
        abort();
    }
    va_end(args);
    where = place_to_string__(place);
    in->error = mem_printf("%s%s%s", where, *where ? ": " : "", message);
    free(where);
    free(message);
}

/* Returns the place of the member 'name', or of the element 'index' if that is
 * NULL, of what is at 'outer'. */
static struct place
go_in__(struct in *in, const struct place *outer, const char *name,
        size_t index)
{
    if (outer->depth == PB_JSON_MAX_DEPTH) {
        fail__(in, outer, "is deeper than %d levels", PB_JSON_MAX_DEPTH);
    }
    return (struct place){ outer, name, index, outer->depth + 1 };
}

/* Numbers. */

/* Stores in '*value' the whole number that the string 's' is, all of it.
 * Returns false if it is none, or has more than 64 bits. */
static bool
parse_digits__(const char *s, int64_t *value, uint64_t *magnitude)
{
    char *end;

    if (!isdigit((unsigned char) s[*s == '-'])) {
        return false;
    }
    errno = 0;
    *value = strtoll(s, &end, 10);
    if (*s != '-') {
        errno = 0;
        *magnitude = strtoull(s, &end, 10);
    }
    return !*end && !errno;
}

/* Returns the whole number that 'j' is, from 'min' to 'max', as the bits of an
 * int64_t or uint64_t. */
static uint64_t
get_number__(struct in *in, const struct place *place, const struct json *j,
             int64_t min, uint64_t max)
{
    int64_t value = -1;
    uint64_t magnitude = 0;
    bool good = false, negative;

    if (j->type == JSON_INTEGER) {
        value = json_integer(j);
        magnitude = (uint64_t) value;
        good = true;
    } else if (j->type == JSON_REAL) {
        double real = json_real(j);

        /* 1.0 and 1e3 are whole numbers, too. */
        good = real == floor(real) && fabs(real) <= 0x1p53;
        value = good ? (int64_t) real : 0;
        magnitude = (uint64_t) value;
    } else if (j->type == JSON_STRING) {
        const char *s = json_string(j);

        good = parse_digits__(s, &value, &magnitude);
        value = good && *s != '-' && magnitude > INT64_MAX ? INT64_MAX : value;
    }
    negative = value < 0;
    if (!good || (negative ? value < min : magnitude > max)) {
        fail__(in, place,
               "must be a whole number from %" PRId64 " to %" PRIu64, min,
               max);
        return 0;
    }
    return negative ? (uint64_t) value : magnitude;
}

/* Stores in '*value' the number that the string 's' is, as JSON would write it,
 * all of it. */
static bool
parse_real__(const char *s, double *value)
{
    char *end;

    if (s[strspn(s, "-.0123456789eE+")]) {
        return false; /* "0x1p3", " 1", or "inf". */
    }
    *value = strtod(s, &end);
    return end != s && !*end;
}

/* Returns the number that 'j' is, which does not become infinite in single
 * precision if that is asked for. */
static double
get_real__(struct in *in, const struct place *place, const struct json *j,
           bool single)
{
    double value = 0;
    bool good = true;

    if (j->type == JSON_INTEGER || j->type == JSON_REAL) {
        value = json_real(j);
    } else if (j->type == JSON_STRING) {
        const char *s = json_string(j);

        if (!strcmp(s, "NaN")) {
            return NAN;
        } else if (!strcmp(s, "Infinity")) {
            return INFINITY;
        } else if (!strcmp(s, "-Infinity")) {
            return -INFINITY;
        }
        good = parse_real__(s, &value);
    } else {
        good = false;
    }
    if (!good) {
        fail__(in, place, "must be a number");
    } else if (isinf(value) || (single && fabs(value) > SINGLE_MAX)) {
        fail__(in, place, "is too large");
    }
    return value;
}

static int
get_enum__(struct in *in, const struct place *place, const struct json *j,
           const ProtobufCEnumDescriptor *type)
{
    const ProtobufCEnumValue *v;

    if (j->type == JSON_STRING) {
        v = protobuf_c_enum_descriptor_get_value_by_name(type, json_string(j));
        if (v) {
            return v->value;
        }
        fail__(in, place, "\"%.*s\" is none of %s, %s...", SHOWN_MAX,
               json_string(j), type->values[0].name,
               type->values[type->n_values - 1].name);
        return 0;
    }
    return (int) get_number__(in, place, j, INT32_MIN, INT32_MAX);
}

static bool
is_utf8__(const char *s)
{
    char *error = utf8_validate(s, NULL);

    free(error);
    return !error;
}

static char *
get_string__(struct in *in, const struct place *place, const struct json *j)
{
    if (j->type != JSON_STRING) {
        fail__(in, place, "must be a string");
        return NULL;
    }
    if (!is_utf8__(json_string(j))) {
        fail__(in, place, "is not UTF-8");
    }
    return arena_strdup(in->arena, json_string(j));
}

/* Messages. */

static void parse_message__(struct in *, const struct place *,
                            const struct json *, ProtobufCMessage *);

static ProtobufCMessage *
create__(struct in *in, const ProtobufCMessageDescriptor *d)
{
    ProtobufCMessage *msg = arena_alloc(in->arena, d->sizeof_message);

    protobuf_c_message_init(d, msg);
    return msg;
}

/* Stores at 'p' the value of 'field' that 'j' is. */
static void
parse_value__(struct in *in, const struct place *place, const struct json *j,
              const ProtobufCFieldDescriptor *field, void *p)
{
    ProtobufCMessage *msg;

    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        *(int32_t *) p =
            (int32_t) get_number__(in, place, j, INT32_MIN, INT32_MAX);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        *(uint32_t *) p = (uint32_t) get_number__(in, place, j, 0, UINT32_MAX);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        *(int64_t *) p =
            (int64_t) get_number__(in, place, j, INT64_MIN, INT64_MAX);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        *(uint64_t *) p = get_number__(in, place, j, 0, UINT64_MAX);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *) p = (float) get_real__(in, place, j, true);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *) p = get_real__(in, place, j, false);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        if (j->type != JSON_TRUE && j->type != JSON_FALSE) {
            fail__(in, place, "must be true or false");
        }
        *(protobuf_c_boolean *) p = j->type == JSON_TRUE;
        break;
    case PROTOBUF_C_TYPE_ENUM:
        *(int *) p = get_enum__(in, place, j, field->descriptor);
        break;
    case PROTOBUF_C_TYPE_STRING:
        *(char **) p = get_string__(in, place, j);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        msg = create__(in, field->descriptor);
        parse_message__(in, place, j, msg);
        *(ProtobufCMessage **) p = msg;
        break;
    case PROTOBUF_C_TYPE_BYTES:
        fail__(in, place, "is a field of bytes, which is not supported");
        break;
    }
}

static void
parse_repeated__(struct in *in, const struct place *place,
                 const struct json *j, const ProtobufCFieldDescriptor *field,
                 ProtobufCMessage *msg)
{
    size_t size = pb_field_size(field->type);
    const struct json_array *array;
    uint8_t *values;
    size_t n;

    if (j->type != JSON_ARRAY) {
        fail__(in, place, "must be a list, [ ... ]");
        return;
    }
    array = json_array(j);
    n = array->n;
    values = arena_alloc(in->arena, n * size);
    for (size_t i = 0; !in->error && i < n; i++) {
        struct place element = go_in__(in, place, NULL, i);

        if (!in->error) {
            parse_value__(in, &element, array->elems[i], field,
                          values + i * size);
        }
    }
    *(uint8_t **) pb_field_value(msg, field) = values;
    *(size_t *) pb_field_quantifier(msg, field) = n;
}

/* Takes note that 'msg' has 'field', which is not repeated. */
static void
set_quantifier__(struct in *in, const struct place *place,
                 const ProtobufCFieldDescriptor *field, ProtobufCMessage *msg)
{
    if (pb_field_is_oneof(field)) {
        uint32_t *which = pb_field_quantifier(msg, field);

        if (*which) {
            fail__(in, place, "excludes another field that is given, too");
        }
        *which = field->id;
    } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL
               && field->quantifier_offset) {
        *(protobuf_c_boolean *) pb_field_quantifier(msg, field) = true;
    }
}

/* Is a null of 'field' a value, and not the same as nothing? */
static bool
takes_null__(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_MESSAGE
           && pb_known_type(field->descriptor) == PB_KNOWN_VALUE;
}

static void
parse_field__(struct in *in, const struct place *place, const struct json *j,
              const ProtobufCFieldDescriptor *field, ProtobufCMessage *msg)
{
    if (j->type == JSON_NULL && !takes_null__(field)) {
        return;
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        parse_repeated__(in, place, j, field, msg);
    } else {
        set_quantifier__(in, place, field, msg);
        parse_value__(in, place, j, field, pb_field_value(msg, field));
    }
}

/* Is 'name' what JSON calls 'field': its name in the .proto, or that in
 * lowerCamelCase? */
bool
pb_json_is_name(const ProtobufCFieldDescriptor *field, const char *name)
{
    const char *f = field->name;

    if (!strcmp(f, name)) {
        return true;
    }
    for (; *f && *name; f++, name++) {
        char c = *f;

        if (c == '_' && f[1]) {
            f++;
            c = (char) toupper((unsigned char) *f);
        }
        if (c != *name) {
            return false;
        }
    }
    return !*f && !*name;
}

static const ProtobufCFieldDescriptor *
find_field__(const ProtobufCMessageDescriptor *d, const char *name)
{
    for (unsigned int i = 0; i < d->n_fields; i++) {
        if (pb_json_is_name(&d->fields[i], name)) {
            return &d->fields[i];
        }
    }
    return NULL;
}

/* Calls 'cb' with each member of the object 'j', by name, until there is an
 * error. */
typedef void member_cb__(struct in *, const struct place *, const char *name,
                         const struct json *, ProtobufCMessage *);

static void
for_each_member__(struct in *in, const struct place *place,
                  const struct json *j, member_cb__ *cb, ProtobufCMessage *msg)
{
    const struct shash_node **nodes;
    size_t n;

    if (j->type != JSON_OBJECT) {
        fail__(in, place, "must be an object, { ... }");
        return;
    }
    n = shash_count(json_object(j));
    nodes = shash_sort(json_object(j));
    for (size_t i = 0; !in->error && i < n; i++) {
        struct place inner = go_in__(in, place, nodes[i]->name, 0);

        if (!in->error) {
            cb(in, &inner, nodes[i]->name, nodes[i]->data, msg);
        }
    }
    free(nodes);
}

/* What google.protobuf defines. */

static void
parse_timestamp__(struct in *in, const struct place *place,
                  const struct json *j, Google__Protobuf__Timestamp *t)
{
    if (j->type != JSON_STRING
        || !rfc3339_parse(json_string(j), &t->seconds, &t->nanos)) {
        fail__(in, place, "must be a time such as \"2026-12-01T05:45:00Z\"");
    }
}

static void
parse_list__(struct in *in, const struct place *place, const struct json *j,
             Google__Protobuf__ListValue *list)
{
    const ProtobufCFieldDescriptor *values = &list->base.descriptor->fields[0];

    parse_repeated__(in, place, j, values, &list->base);
}

static void
parse_entry__(struct in *in, const struct place *place, const char *name,
              const struct json *j, ProtobufCMessage *msg)
{
    Google__Protobuf__Struct *s = (void *) msg;
    const ProtobufCMessageDescriptor *type =
        msg->descriptor->fields[0].descriptor;
    Google__Protobuf__Struct__FieldsEntry *entry = (void *) create__(in, type);

    if (!is_utf8__(name)) {
        fail__(in, place, "the name is not UTF-8");
    }
    entry->key = arena_strdup(in->arena, name);
    parse_value__(in, place, j, &type->fields[1], &entry->value);
    s->fields[s->n_fields++] = entry;
}

static void
parse_struct__(struct in *in, const struct place *place, const struct json *j,
               Google__Protobuf__Struct *s)
{
    if (j->type == JSON_OBJECT) {
        s->fields = arena_pointers(in->arena, shash_count(json_object(j)));
    }
    for_each_member__(in, place, j, parse_entry__, &s->base);
}

static void
parse_any_value__(struct in *in, const struct place *place,
                  const struct json *j, Google__Protobuf__Value *v)
{
    /* The field for each type of JSON. */
    static const struct {
        int id;
        enum json_type types[2];
    } kinds[] = {
        { GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE,
          { JSON_INTEGER, JSON_REAL } },
        { GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE,
          { JSON_STRING, JSON_STRING } },
        { GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE,
          { JSON_TRUE, JSON_FALSE } },
        { GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE,
          { JSON_OBJECT, JSON_OBJECT } },
        { GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE,
          { JSON_ARRAY, JSON_ARRAY } },
    };

    v->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_NULL_VALUE;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (j->type == kinds[i].types[0] || j->type == kinds[i].types[1]) {
            const ProtobufCFieldDescriptor *field =
                protobuf_c_message_descriptor_get_field(
                    v->base.descriptor, (unsigned int) kinds[i].id);

            v->kind_case = (unsigned int) kinds[i].id;
            parse_value__(in, place, j, field,
                          pb_field_value(&v->base, field));
        }
    }
}

static void
parse_member__(struct in *in, const struct place *place, const char *name,
               const struct json *j, ProtobufCMessage *msg)
{
    const ProtobufCFieldDescriptor *field =
        find_field__(msg->descriptor, name);

    if (field) {
        parse_field__(in, place, j, field, msg);
    } else {
        fail__(in, place, "there is no such field");
    }
}

static void
parse_message__(struct in *in, const struct place *place, const struct json *j,
                ProtobufCMessage *msg)
{
    switch (pb_known_type(msg->descriptor)) {
    case PB_KNOWN_NONE:
        for_each_member__(in, place, j, parse_member__, msg);
        break;
    case PB_KNOWN_TIMESTAMP:
        parse_timestamp__(in, place, j, (void *) msg);
        break;
    case PB_KNOWN_STRUCT:
        parse_struct__(in, place, j, (void *) msg);
        break;
    case PB_KNOWN_VALUE:
        parse_any_value__(in, place, j, (void *) msg);
        break;
    case PB_KNOWN_LIST:
        parse_list__(in, place, j, (void *) msg);
        break;
    }
}

/* Stores in '*msgp' the message of the type 'd' that 'j' is; it is in 'arena'.
 * Returns NULL if successful, or an error, which the caller must free. */
char *
pb_json_parse(const struct json *j, const ProtobufCMessageDescriptor *d,
              struct arena *arena, ProtobufCMessage **msgp)
{
    const struct place top = { .depth = 0 };
    struct in in = { .arena = arena };
    ProtobufCMessage *msg = create__(&in, d);

    parse_message__(&in, &top, j, msg);
    *msgp = in.error ? NULL : msg;
    return in.error;
}
