# SPDX-License-Identifier: Apache-2.0

"""The .proto that evlbd is built from, against the specification's tables."""

import os
import subprocess

import pytest
from google.protobuf import descriptor_pb2

import tables
from evlbd import TOP

PROTO = os.path.join(TOP, "controller/api/loadbalancer.proto")


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """Returns a description of evlbd's .proto, made by protoc."""
    out = str(tmp_path_factory.mktemp("proto") / "set")
    subprocess.run(["protoc", "-I" + os.path.dirname(PROTO),
                    "--descriptor_set_out=" + out, PROTO], check=True,
                   timeout=60)
    files = descriptor_pb2.FileDescriptorSet()
    with open(out, "rb") as data:
        files.ParseFromString(data.read())
    assert len(files.file) == 1
    return files.file[0]


def describe_fields(message):
    """Returns what matters of each field of 'message', by name."""
    fields = {}
    for f in message.field:
        oneof = (message.oneof_decl[f.oneof_index].name
                 if f.HasField("oneof_index") else None)
        assert f.name not in fields
        fields[f.name] = (f.number, f.Type.Name(f.type), f.type_name,
                          f.Label.Name(f.label), oneof, f.proto3_optional,
                          f.options.SerializeToString())
    return fields


def describe_enums(parent, prefix=""):
    return {prefix + e.name: {v.name: v.number for v in e.value}
            for e in parent.enum_type}


def describe_messages(proto):
    """Returns the fields of each message of 'proto', by name."""
    assert not any(m.nested_type or m.extension for m in proto.message_type)
    return {m.name: describe_fields(m) for m in proto.message_type}


def describe_methods(proto):
    return {(s.name, m.name): (m.input_type, m.output_type,
                               m.client_streaming, m.server_streaming)
            for s in proto.service for m in s.method}


def all_enums(proto):
    enums = describe_enums(proto)
    for m in proto.message_type:
        enums.update(describe_enums(m, m.name + "."))
    return enums


def test_counts():
    """The tables are complete: what was counted by hand is there."""
    assert len(tables.FILE.message_type) == 57
    assert len(tables.get_methods()) == 22
    assert sum(len(m.field) for m in tables.FILE.message_type) == 166


def test_file(ours):
    assert (ours.package, ours.syntax) == (tables.PACKAGE, "proto3")


def test_names(ours):
    assert describe_messages(ours).keys() == describe_messages(
        tables.FILE).keys()


@pytest.mark.parametrize("name", [m.name for m in tables.FILE.message_type])
def test_message(ours, name):
    """Each field's number, type, label and oneof."""
    assert describe_messages(ours)[name] == describe_messages(
        tables.FILE)[name]


def test_enums(ours):
    assert all_enums(ours) == all_enums(tables.FILE)


def test_service(ours):
    """Paths, requests and replies; none streams."""
    methods = describe_methods(ours)
    assert methods == describe_methods(tables.FILE)
    assert not any(m[2] or m[3] for m in methods.values())
