/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_UNIT_PB_TEXT_H
#define TESTS_UNIT_PB_TEXT_H 1

/* JSON of messages for tests whose own struct json is Open vSwitch's. */

#include <protobuf-c/protobuf-c.h>

char *unit_write_proto3(const ProtobufCMessage *);

#endif /* pb-text.h */
