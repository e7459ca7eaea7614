/* SPDX-License-Identifier: Apache-2.0 */

#ifndef LIB_PB_JSON_H
#define LIB_PB_JSON_H 1

/* Writes protobuf-c messages as JSON.
 *
 * Keys are the fields' names as they stand in the .proto.  All fields are
 * written, those with default values too, so that a key is always there;
 * messages that are absent are null.  Numbers are numbers, those of 64 bits
 * too. */

#include <protobuf-c/protobuf-c.h>

struct json;

void pb_json_write(struct json *, const char *name, const ProtobufCMessage *);

#endif /* lib/pb-json.h */
