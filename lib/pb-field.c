/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/pb-field.h"

#include <string.h>

/* Returns the size of one value of 'type' in an array. */
size_t
pb_field_size(ProtobufCType type)
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

/* Returns which of google.protobuf's messages 'd' describes. */
enum pb_known_type
pb_known_type(const ProtobufCMessageDescriptor *d)
{
    static const struct {
        const char *name;
        enum pb_known_type type;
    } known[] = {
        { "Timestamp", PB_KNOWN_TIMESTAMP },
        { "Struct", PB_KNOWN_STRUCT },
        { "Value", PB_KNOWN_VALUE },
        { "ListValue", PB_KNOWN_LIST },
    };

    if (strcmp(d->package_name, "google.protobuf")) {
        return PB_KNOWN_NONE;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(d->short_name, known[i].name)) {
            return known[i].type;
        }
    }
    return PB_KNOWN_NONE;
}
