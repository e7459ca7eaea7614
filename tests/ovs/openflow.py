# SPDX-License-Identifier: Apache-2.0
"""OpenFlow messages built by hand, for what ovs-ofctl would not send, and a
connection to send them on."""

import socket
import struct

OF13, OF15 = 4, 6

HELLO, ERROR, ECHO_REQUEST, FLOW_MOD, GROUP_MOD = 0, 1, 2, 14, 15
MULTIPART_REQUEST, MULTIPART_REPLY = 18, 19
BARRIER_REQUEST, BARRIER_REPLY = 20, 21

# (type, code) of the errors that the tests expect.
BAD_TYPE = (2, 0)               # OFPBAC_BAD_TYPE
BAD_LEN = (2, 1)                # OFPBAC_BAD_LEN
BAD_EXPERIMENTER_TYPE = (2, 3)  # OFPBAC_BAD_VENDOR_TYPE
BAD_ARGUMENT = (2, 5)           # OFPBAC_BAD_ARGUMENT
MATCH_INCONSISTENT = (2, 10)    # OFPBAC_MATCH_INCONSISTENT
BAD_SET_LEN = (2, 14)           # OFPBAC_BAD_SET_LEN
BAD_SET_ARGUMENT = (2, 15)      # OFPBAC_BAD_SET_ARGUMENT
BAD_MATCH_LEN = (4, 1)          # OFPBMC_BAD_LEN
BAD_MATCH_FIELD = (4, 6)        # OFPBMC_BAD_FIELD
BAD_MATCH_DUPLICATE = (4, 10)   # OFPBMC_DUP_FIELD
INVALID_GROUP = (6, 1)          # OFPGMFC_INVALID_GROUP
GROUP_BAD_TYPE = (6, 10)        # OFPGMFC_BAD_TYPE
BAD_BUCKET = (6, 12)            # OFPGMFC_BAD_BUCKET
UNKNOWN_BUCKET = (6, 15)        # OFPGMFC_UNKNOWN_BUCKET
BUCKET_EXISTS = (6, 16)         # OFPGMFC_BUCKET_EXISTS
BAD_PROPERTY_VALUE = (14, 2)    # OFPBPC_BAD_VALUE

EVLB = 0x00064c42

ADD_GROUP, MODIFY_GROUP, INSERT_BUCKET, REMOVE_BUCKET = 0, 1, 3, 5
ALL, SELECT, INDIRECT, FAST_FAILOVER = range(4)
BUCKET_ALL = 0xffffffff
ANY = 0xffffffff


def pad8(data):
    return data + bytes(-len(data) % 8)


def message(version, kind, body=b"", xid=1):
    return struct.pack(">BBHI", version, kind, 8 + len(body), xid) + body


# Matches.

LB_STATUS, LB_VERSION, LB_MEMBER, LB_TICK, LB_SLOT_SELECT, LB_PORT_SELECT = \
    range(1, 7)
FIELD_SIZES = {LB_STATUS: 1, LB_VERSION: 1, LB_MEMBER: 2, LB_TICK: 8,
               LB_SLOT_SELECT: 2, LB_PORT_SELECT: 2}


def lb_header(field, size, masked=False):
    """The experimenter header of an lb_* field whose body has 'size' bytes.
    """
    return struct.pack(">HBBI", 0xffff, field << 1 | masked, 4 + size, EVLB)


def lb_oxm(field, value, mask=None):
    size = FIELD_SIZES[field]
    body = value.to_bytes(size, "big")
    if mask is not None:
        body += mask.to_bytes(size, "big")
    return lb_header(field, len(body), mask is not None) + body


def eth_type(value):
    return struct.pack(">IH", 0x80000a02, value)


def match(*oxms):
    body = b"".join(oxms)
    return pad8(struct.pack(">HH", 1, 4 + len(body)) + body)


# Actions.

def experimenter_action(body, vendor=EVLB):
    """'body' begins with the subtype."""
    body = struct.pack(">I", vendor) + body
    return struct.pack(">HH", 0xffff, 4 + len(body)) + body


def lb_parse(table=6, flags=0, epoch_table=0, zero=bytes(3)):
    return experimenter_action(struct.pack(">HBBB", 1, table, flags,
                                           epoch_table) + zero)


def lb_forward(base=20000, bits=0, flags=0, zero=bytes(6),
               ip_src=b"\x0a\0\0\1" + bytes(12),
               ip_dst=b"\x0a\0\0\2" + bytes(12)):
    return experimenter_action(
        struct.pack(">HHBB", 2, base, bits, flags)
        + bytes.fromhex("020000000001020000000011") + zero + ip_src + ip_dst)


def set_field(oxm):
    return struct.pack(">HH", 25, len(pad8(bytes(4) + oxm))) \
        + pad8(bytes(4) + oxm)[4:]


def output(port):
    return struct.pack(">HHIH6x", 0, 16, port, 0xffff)


def apply_actions(*actions):
    body = b"".join(actions)
    return struct.pack(">HH4x", 4, 8 + len(body)) + body


def flow_mod(match_, instructions=b"", table=0, version=OF15):
    return message(version, FLOW_MOD, struct.pack(
        ">QQBBHHHIIIHH", 0, 0, table, 0, 0, 0, 0x8000, 0xffffffff, ANY, ANY,
        0, 0) + match_ + instructions)


def flow_stats_request(version):
    """Asks for all flows of all tables."""
    return message(version, MULTIPART_REQUEST, struct.pack(
        ">HH4xB3xII4x16x", 1, 0, 255, ANY, ANY) + match())


# Groups.

def bucket(slot, actions=None, member=11, properties=b""):
    if actions is None:
        actions = set_field(lb_oxm(LB_MEMBER, member))
    return struct.pack(">HHI", 8 + len(actions) + len(properties),
                       len(actions), slot) + actions + properties


def weight(value):
    return struct.pack(">HHHxx", 0, 8, value)


def watch_port(port):
    return struct.pack(">HHI", 1, 8, port)


def watch_group(group):
    return struct.pack(">HHI", 2, 8, group)


def selection_method(param, method=b"lb_calendar", fields=b""):
    return pad8(struct.pack(">HHII4x16sQ", 0xffff, 40 + len(fields), 0x154d, 1,
                            method, param) + fields)


def group_mod(group, buckets=(), properties=b"", kind=SELECT,
              command=ADD_GROUP, command_bucket=BUCKET_ALL):
    buckets = b"".join(buckets)
    return message(OF15, GROUP_MOD, struct.pack(
        ">HBxIHxxI", command, kind, group, len(buckets), command_bucket)
        + buckets + properties)


def group_mod_13(group, buckets, command=ADD_GROUP, kind=SELECT):
    """OpenFlow 1.3's form, which has neither bucket IDs nor properties."""
    body = b"".join(struct.pack(">HHII4x", 16 + len(actions), 1, ANY, ANY)
                    + actions for actions in buckets)
    return message(OF13, GROUP_MOD, struct.pack(">HBxI", command, kind, group)
                   + body)


class Connection:
    """An OpenFlow connection to a bridge's management socket."""

    def __init__(self, switch, bridge, version):
        self.version = version
        self.buffer = b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(switch.path(bridge + ".mgmt"))
        self.socket.sendall(message(version, HELLO))
        assert self.receive()[1] == HELLO

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.socket.close()

    def receive_bytes(self, n):
        while len(self.buffer) < n:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the switch closed the connection")
            self.buffer += data
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def receive(self):
        """Returns (version, type, xid, body) of the next message."""
        version, kind, length, xid = struct.unpack(
            ">BBHI", self.receive_bytes(8))
        return version, kind, xid, self.receive_bytes(length - 8)

    def send(self, *messages):
        """Sends 'messages' and waits until the switch is done with them.
        Returns the errors, as pairs of type and code, and keeps the other
        replies in 'replies'."""
        self.socket.sendall(b"".join(messages)
                            + message(self.version, BARRIER_REQUEST, xid=99))
        errors = []
        self.replies = []
        while True:
            _, kind, xid, body = self.receive()
            if kind == BARRIER_REPLY and xid == 99:
                return errors
            elif kind == ERROR:
                errors.append(struct.unpack_from(">HH", body))
            else:
                self.replies.append((kind, body))
