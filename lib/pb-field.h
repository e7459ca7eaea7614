/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_PB_FIELD_H
#define LIB_PB_FIELD_H 1

/* Where protobuf-c keeps what a field of a message holds, for those who go by
 * the descriptor. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* Messages that have a JSON of their own. */
enum pb_known_type {
    PB_KNOWN_NONE,
    PB_KNOWN_TIMESTAMP, /* Google__Protobuf__Timestamp */
    PB_KNOWN_STRUCT,    /* Google__Protobuf__Struct */
    PB_KNOWN_VALUE,     /* Google__Protobuf__Value */
    PB_KNOWN_LIST       /* Google__Protobuf__ListValue */
};

size_t pb_field_size(ProtobufCType);
enum pb_known_type pb_known_type(const ProtobufCMessageDescriptor *);

/* Returns where 'msg' has the value, or the pointer to the values, of
 * 'field'. */
static inline void *
pb_field_value(const ProtobufCMessage *msg,
               const ProtobufCFieldDescriptor *field)
{
    return (uint8_t *) msg + field->offset;
}

/* Returns where 'msg' has, of 'field', how many values there are (size_t), of
 * which field of a "oneof" there is one (uint32_t), or whether there is one
 * (protobuf_c_boolean). */
static inline void *
pb_field_quantifier(const ProtobufCMessage *msg,
                    const ProtobufCFieldDescriptor *field)
{
    return (uint8_t *) msg + field->quantifier_offset;
}

/* Is 'field' one of several of which a message has one? */
static inline bool
pb_field_is_oneof(const ProtobufCFieldDescriptor *field)
{
    return field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

#endif /* lib/pb-field.h */
