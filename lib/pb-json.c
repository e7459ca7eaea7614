/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/pb-json.h"

#include <inttypes.h>

#include "lib/json.h"

/* The size of one value of 'type' in an array. */
static size_t
size__(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
        return sizeof(uint32_t);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return sizeof(uint64_t);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    }
    return 0;
}

static void
write_enum__(struct json *j, const char *name,
             const ProtobufCEnumDescriptor *type, int value)
{
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(type, value);

    if (v) {
        json_string(j, name, v->name);
    } else {
        json_integer(j, name, value);
    }
}

static void
write_bytes__(struct json *j, const char *name,
              const ProtobufCBinaryData *bytes)
{
    json_open_array(j, name);
    for (size_t i = 0; i < bytes->len; i++) {
        json_number(j, NULL, bytes->data[i]);
    }
    json_close_array(j);
}

/* Writes the value at 'p', one of 'field'. */
static void
write_value__(struct json *j, const char *name,
              const ProtobufCFieldDescriptor *field, const void *p)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        json_integer(j, name, *(const int32_t *) p);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        json_number(j, name, *(const uint32_t *) p);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        json_integer(j, name, *(const int64_t *) p);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        json_number(j, name, *(const uint64_t *) p);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        json_real(j, name, (double) *(const float *) p);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        json_real(j, name, *(const double *) p);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        json_bool(j, name, *(const protobuf_c_boolean *) p);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        write_enum__(j, name, field->descriptor, *(const int *) p);
        break;
    case PROTOBUF_C_TYPE_STRING:
        json_string(j, name, *(char *const *) p ? *(char *const *) p : "");
        break;
    case PROTOBUF_C_TYPE_BYTES:
        write_bytes__(j, name, p);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        pb_json_write(j, name, *(const ProtobufCMessage *const *) p);
        break;
    }
}

static void
write_field__(struct json *j, const ProtobufCFieldDescriptor *field,
              const ProtobufCMessage *msg)
{
    const uint8_t *p = (const uint8_t *) msg + field->offset;

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        const size_t *n =
            (const void *) ((const uint8_t *) msg + field->quantifier_offset);
        const uint8_t *values = *(uint8_t *const *) (const void *) p;

        json_open_array(j, field->name);
        for (size_t i = 0; i < *n; i++) {
            write_value__(j, NULL, field, values + i * size__(field->type));
        }
        json_close_array(j);
    } else {
        write_value__(j, field->name, field, p);
    }
}

/* Writes 'msg', which may be NULL, as the item 'name' of 'j'. */
void
pb_json_write(struct json *j, const char *name, const ProtobufCMessage *msg)
{
    if (!msg) {
        json_null(j, name);
        return;
    }
    json_open_object(j, name);
    for (unsigned int i = 0; i < msg->descriptor->n_fields; i++) {
        write_field__(j, &msg->descriptor->fields[i], msg);
    }
    json_close_object(j);
}
