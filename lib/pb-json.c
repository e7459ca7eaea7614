/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/pb-json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "google/protobuf/struct.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "lib/json.h"
#include "lib/pb-field.h"
#include "lib/rfc3339.h"

/* Where, and how. */
struct out {
    struct json *j;
    bool proto3; /* By proto3's mapping?  Else as a report. */
};

static void write_message__(const struct out *, const char *name,
                            const ProtobufCMessage *);

static void
write_enum__(struct json *j, const char *name,
             const ProtobufCEnumDescriptor *type, int value)
{
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(type, value);

    if (v) {
        json_put_string(j, name, v->name);
    } else {
        json_put_integer(j, name, value);
    }
}

static void
write_bytes__(const struct out *out, const char *name,
              const ProtobufCBinaryData *bytes)
{
    json_open_array(out->j, name);
    for (size_t i = 0; i < bytes->len; i++) {
        json_put_number(out->j, NULL, bytes->data[i]);
    }
    json_close_array(out->j);
}

static void
write_int64__(const struct out *out, const char *name, int64_t value)
{
    char s[32];

    if (out->proto3) {
        snprintf(s, sizeof s, "%" PRId64, value);
        json_put_string(out->j, name, s);
    } else {
        json_put_integer(out->j, name, value);
    }
}

static void
write_uint64__(const struct out *out, const char *name, uint64_t value)
{
    char s[32];

    if (out->proto3) {
        snprintf(s, sizeof s, "%" PRIu64, value);
        json_put_string(out->j, name, s);
    } else {
        json_put_number(out->j, name, value);
    }
}

static void
write_double__(const struct out *out, const char *name, double value)
{
    if (out->proto3) {
        json_put_double(out->j, name, value);
    } else {
        json_put_real(out->j, name, value);
    }
}

/* Writes the value at 'p', one of 'field'. */
static void
write_value__(const struct out *out, const char *name,
              const ProtobufCFieldDescriptor *field, const void *p)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        json_put_integer(out->j, name, *(const int32_t *) p);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        json_put_number(out->j, name, *(const uint32_t *) p);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        write_int64__(out, name, *(const int64_t *) p);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        write_uint64__(out, name, *(const uint64_t *) p);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        json_put_float(out->j, name, *(const float *) p);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        write_double__(out, name, *(const double *) p);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        json_put_bool(out->j, name, *(const protobuf_c_boolean *) p);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        write_enum__(out->j, name, field->descriptor, *(const int *) p);
        break;
    case PROTOBUF_C_TYPE_STRING:
        json_put_string(out->j, name,
                        *(char *const *) p ? *(char *const *) p : "");
        break;
    case PROTOBUF_C_TYPE_BYTES:
        write_bytes__(out, name, p);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        write_message__(out, name, *(const ProtobufCMessage *const *) p);
        break;
    }
}

/* Does proto3's mapping leave 'field' of 'msg' out? */
static bool
is_absent__(const ProtobufCMessage *msg, const ProtobufCFieldDescriptor *field)
{
    const void *quantifier = pb_field_quantifier(msg, field);

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return false;
    }
    if (pb_field_is_oneof(field)) {
        return *(const uint32_t *) quantifier != field->id;
    }
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        return !*(void *const *) pb_field_value(msg, field);
    }
    return field->label == PROTOBUF_C_LABEL_OPTIONAL
           && field->quantifier_offset
           && !*(const protobuf_c_boolean *) quantifier;
}

static void
write_field__(const struct out *out, const ProtobufCFieldDescriptor *field,
              const ProtobufCMessage *msg)
{
    const void *p = pb_field_value(msg, field);

    if (out->proto3 && is_absent__(msg, field)) {
        return;
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        const size_t *n = pb_field_quantifier(msg, field);
        const uint8_t *values = *(uint8_t *const *) p;

        json_open_array(out->j, field->name);
        for (size_t i = 0; i < *n; i++) {
            write_value__(out, NULL, field,
                          values + i * pb_field_size(field->type));
        }
        json_close_array(out->j);
    } else {
        write_value__(out, field->name, field, p);
    }
}

/* What google.protobuf defines. */

static void
write_timestamp__(const struct out *out, const char *name,
                  const Google__Protobuf__Timestamp *t)
{
    char s[RFC3339_STRLEN];

    if (rfc3339_format(t->seconds, t->nanos, s)) {
        json_put_string(out->j, name, s);
    } else {
        json_put_null(out->j, name);
    }
}

static void
write_struct__(const struct out *out, const char *name,
               const Google__Protobuf__Struct *s)
{
    json_open_object(out->j, name);
    for (size_t i = 0; i < s->n_fields; i++) {
        write_message__(out, s->fields[i]->key, &s->fields[i]->value->base);
    }
    json_close_object(out->j);
}

static void
write_list__(const struct out *out, const char *name,
             const Google__Protobuf__ListValue *list)
{
    json_open_array(out->j, name);
    for (size_t i = 0; i < list->n_values; i++) {
        write_message__(out, NULL, &list->values[i]->base);
    }
    json_close_array(out->j);
}

static void
write_any_value__(const struct out *out, const char *name,
                  const Google__Protobuf__Value *v)
{
    switch ((unsigned int) v->kind_case) {
    case GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE:
        json_put_double(out->j, name, v->number_value);
        break;
    case GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE:
        json_put_string(out->j, name, v->string_value);
        break;
    case GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE:
        json_put_bool(out->j, name, v->bool_value);
        break;
    case GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE:
        write_struct__(out, name, v->struct_value);
        break;
    case GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE:
        write_list__(out, name, v->list_value);
        break;
    default: /* Null, or nothing. */
        json_put_null(out->j, name);
        break;
    }
}

/* Writes 'msg' if google.protobuf defines it, and returns true. */
static bool
write_known__(const struct out *out, const char *name,
              const ProtobufCMessage *msg)
{
    switch (pb_known_type(msg->descriptor)) {
    case PB_KNOWN_NONE:
        return false;
    case PB_KNOWN_TIMESTAMP:
        write_timestamp__(out, name, (const void *) msg);
        break;
    case PB_KNOWN_STRUCT:
        write_struct__(out, name, (const void *) msg);
        break;
    case PB_KNOWN_VALUE:
        write_any_value__(out, name, (const void *) msg);
        break;
    case PB_KNOWN_LIST:
        write_list__(out, name, (const void *) msg);
        break;
    }
    return true;
}

static void
write_message__(const struct out *out, const char *name,
                const ProtobufCMessage *msg)
{
    if (!msg) {
        json_put_null(out->j, name);
        return;
    }
    if (write_known__(out, name, msg)) {
        return;
    }
    json_open_object(out->j, name);
    for (unsigned int i = 0; i < msg->descriptor->n_fields; i++) {
        write_field__(out, &msg->descriptor->fields[i], msg);
    }
    json_close_object(out->j);
}

/* Writes 'msg', which may be NULL, as the item 'name' of 'j', for a report. */
void
pb_json_write(struct json *j, const char *name, const ProtobufCMessage *msg)
{
    const struct out out = { j, false };

    write_message__(&out, name, msg);
}

/* Writes 'msg' as the item 'name' of 'j', by the JSON mapping of proto3. */
void
pb_json_write_proto3(struct json *j, const char *name,
                     const ProtobufCMessage *msg)
{
    const struct out out = { j, true };

    write_message__(&out, name, msg);
}
