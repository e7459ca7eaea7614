# SPDX-License-Identifier: Apache-2.0

"""The control API's messages, as its specification lists them.

This is written by hand, and not made from the .proto that evlbd is built from,
so that a number which is wrong there is noticed here."""

import re

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf import struct_pb2, timestamp_pb2  # noqa: F401

PACKAGE = "loadbalancer"
SERVICE = "LoadBalancer"

# A method, its request, and its reply.
METHODS = """
ReserveLoadBalancer   ReserveLoadBalancerRequest   ReserveLoadBalancerReply
GetLoadBalancer       GetLoadBalancerRequest       ReserveLoadBalancerReply
LoadBalancerStatus    LoadBalancerStatusRequest    LoadBalancerStatusReply
FreeLoadBalancer      FreeLoadBalancerRequest      FreeLoadBalancerReply
ResetLoadBalancer     ResetLoadBalancerRequest     ResetLoadBalancerReply
ExtendReservation     ExtendReservationRequest     ExtendReservationReply
AddSenders            AddSendersRequest            AddSendersReply
RemoveSenders         RemoveSendersRequest         RemoveSendersReply
Register              RegisterRequest              RegisterReply
SetSlotDemands        SetSlotDemandsRequest        SetSlotDemandsReply
Deregister            DeregisterRequest            DeregisterReply
SendState             SendStateRequest             SendStateReply
Overview              OverviewRequest              OverviewReply
Timeseries            TimeseriesRequest            TimeseriesResponse
Version               VersionRequest               VersionReply
CreateToken           CreateTokenRequest           CreateTokenReply
ListTokenPermissions  ListTokenPermissionsRequest  ListTokenPermissionsReply
ListChildTokens       ListChildTokensRequest       ListChildTokensReply
RevokeToken           RevokeTokenRequest           RevokeTokenReply
ChainLoadBalancer     ChainLoadBalancerRequest     ChainLoadBalancerReply
UnchainLoadBalancer   UnchainLoadBalancerRequest   UnchainLoadBalancerReply
GetChainGraph         GetChainGraphRequest         GetChainGraphReply
"""

# Values count from 0.
ENUMS = {
    "IpFamily": "DUAL_STACK IPV4 IPV6",
    "PortRange": " ".join("PORT_RANGE_%d" % (1 << i) for i in range(15)),
    "TokenPermission.ResourceType": "ALL LOAD_BALANCER RESERVATION SESSION",
    "TokenPermission.PermissionType": "READ_ONLY REGISTER RESERVE UPDATE",
}

# A message, and each field's number, name and type.  "*" stands for repeated,
# "|" for an alternative of the oneof that is named behind it.
MESSAGES = """
SlotRange: 1 index int32, 2 length uint32
HealthIssue: 1 type string, 2 severity string, 3 message string,
    4 details Struct, 5 detected_at Timestamp
SessionSlotRanges: 1 sessionId string, 2 slots *SlotRange
ReserveLoadBalancerRequest: 2 name string, 4 until Timestamp,
    5 senderAddresses *string, 6 ipFamily IpFamily, 10 strategy string
GetLoadBalancerRequest: 2 lbId string
ReserveLoadBalancerReply: 1 token string, 2 lbId string,
    3 syncIpv4Address string, 8 syncIpv6Address string, 4 syncUdpPort uint32,
    5 dataIpv4Address string, 6 dataIpv6Address string, 9 dataMinPort uint32,
    10 dataMaxPort uint32, 7 fpgaLbId uint32, 11 strategy string,
    12 ejfatUri string
LoadBalancerStatusRequest: 2 lbId string
WorkerStatus: 1 name string, 2 fillPercent float, 3 controlSignal float,
    4 slotsAssigned uint32, 5 lastUpdated Timestamp, 6 ipAddress string,
    7 udpPort uint32, 8 portRange PortRange, 9 minFactor float,
    10 maxFactor float, 11 keepLbHeader bool, 12 totalEventsRecv int64,
    13 totalEventsReassembled int64, 14 totalEventsReassemblyErr int64,
    15 totalEventsDequeued int64, 16 totalEventEnqueueErr int64,
    17 totalBytesRecv int64, 18 totalPacketsRecv int64, 19 slots *SlotRange,
    20 slotDemands *SlotRange, 21 healthIssues *HealthIssue,
    22 sessionId int64
LoadBalancerStatusReply: 1 timestamp Timestamp, 2 currentEpoch uint64,
    3 currentPredictedEventNumber uint64, 4 workers *WorkerStatus,
    5 senderAddresses *string, 6 expiresAt Timestamp,
    11 slotResolution uint32, 12 healthIssues *HealthIssue
AddSendersRequest: 2 lbId string, 3 senderAddresses *string
AddSendersReply:
RemoveSendersRequest: 2 lbId string, 3 senderAddresses *string
RemoveSendersReply:
FreeLoadBalancerRequest: 2 lbId string
FreeLoadBalancerReply:
ResetLoadBalancerRequest: 1 lbId string, 2 sync bool, 3 epochs bool,
    4 senders bool, 5 workers bool
ResetLoadBalancerReply: 2 sync bool, 3 epochs bool, 4 senders bool,
    5 workers bool
ExtendReservationRequest: 1 lbId string, 2 until Timestamp
ExtendReservationReply: 2 until Timestamp
RegisterRequest: 2 lbId string, 3 name string, 4 weight float,
    5 ipAddress string, 6 udpPort uint32, 7 portRange PortRange,
    8 minFactor float, 9 maxFactor float, 10 keepLbHeader bool,
    12 slotDemands *SlotRange
RegisterReply: 1 token string, 2 sessionId string
SetSlotDemandsRequest: 1 lbId string, 2 slotConstraints *SessionSlotRanges
SetSlotDemandsReply:
DeregisterRequest: 2 lbId string, 3 sessionId string
DeregisterReply:
SendStateRequest: 3 lbId string, 2 sessionId string, 4 timestamp Timestamp,
    5 fillPercent float, 6 controlSignal float, 7 isReady bool,
    8 totalEventsRecv int64, 9 totalEventsReassembled int64,
    10 totalEventsReassemblyErr int64, 11 totalEventsDequeued int64,
    12 totalEventEnqueueErr int64, 13 totalBytesRecv int64,
    14 totalPacketsRecv int64
SendStateReply:
VersionRequest:
VersionReply: 1 commit string, 2 build string, 3 compatTag string
OverviewRequest:
Overview: 1 name string, 3 reservation ReserveLoadBalancerReply,
    4 status LoadBalancerStatusReply
OverviewReply: 1 loadBalancers *Overview
TimeseriesRequest: 1 seriesSelector *string, 2 since Timestamp
FloatSample: 1 timestamp int64, 2 value float, 3 meta Struct
FloatTimeseries: 4 data *FloatSample
IntegerSample: 1 timestamp int64, 2 value int64, 3 meta Struct
IntegerTimeseries: 1 data *IntegerSample
Timeseries: 1 name string, 2 unit string,
    3 integer_samples IntegerTimeseries|timeseries,
    4 float_samples FloatTimeseries|timeseries
TimeseriesResponse: 1 timeseries *Timeseries, 2 since Timestamp
CreateTokenRequest: 1 name string, 2 permissions *TokenPermission
TokenPermission: 1 resourceType TokenPermission.ResourceType,
    2 resourceId string, 3 permission TokenPermission.PermissionType
CreateTokenReply: 1 token string, 2 ejfatUri string
TokenSelector: 1 id uint32|token_selector, 2 token string|token_selector
ListTokenPermissionsRequest: 1 target TokenSelector
TokenDetails: 1 name string, 2 permissions *TokenPermission,
    3 created_at string, 4 id uint32
ListTokenPermissionsReply: 1 token TokenDetails
ListChildTokensRequest: 1 target TokenSelector
ListChildTokensReply: 1 tokens *TokenDetails
RevokeTokenRequest: 1 target TokenSelector
RevokeTokenReply:
ChainLoadBalancerRequest: 1 lbId string, 2 ejfatUri string,
    3 ipFamily IpFamily, 4 weight float, 5 minFactor float,
    6 maxFactor float, 7 slotDemands *SlotRange
ChainLoadBalancerReply: 1 chainId string
GetChainGraphRequest: 1 lbId string, 2 visited *string
ChainGraphEdge: 1 upstreamLbId string, 2 upstreamDataIpv4 string,
    3 upstreamDataIpv6 string, 4 downstreamLbId string,
    5 downstreamDataIpv4 string, 6 downstreamDataIpv6 string,
    7 chainId string
GetChainGraphReply: 1 edges *ChainGraphEdge, 2 cycleDetected bool
UnchainLoadBalancerRequest: 1 lbId string, 2 chainId string
UnchainLoadBalancerReply:
"""

Field = descriptor_pb2.FieldDescriptorProto
WELL_KNOWN = {name: ".google.protobuf." + name
              for name in ("Struct", "Timestamp")}


def set_type(field, name):
    """Makes 'name' the type of 'field'."""
    if name in WELL_KNOWN:
        field.type, field.type_name = Field.TYPE_MESSAGE, WELL_KNOWN[name]
    elif name in ENUMS:
        field.type = Field.TYPE_ENUM
        field.type_name = ".%s.%s" % (PACKAGE, name)
    elif name[0].isupper():
        field.type = Field.TYPE_MESSAGE
        field.type_name = ".%s.%s" % (PACKAGE, name)
    else:
        field.type = Field.Type.Value("TYPE_" + name.upper())


def add_field(message, number, name, kind):
    """Adds a field to 'message'."""
    kind, _, oneof = kind.partition("|")
    field = message.field.add(name=name, number=int(number),
                              label=Field.LABEL_OPTIONAL)
    if kind.startswith("*"):
        field.label = Field.LABEL_REPEATED
    set_type(field, kind.lstrip("*"))
    if oneof:
        if oneof not in [decl.name for decl in message.oneof_decl]:
            message.oneof_decl.add(name=oneof)
        field.oneof_index = 0


def add_enum(parent, name):
    """Adds the enum 'name' to a file or a message."""
    enum = parent.enum_type.add(name=name.rpartition(".")[2])
    for i, value in enumerate(ENUMS[name].split()):
        enum.value.add(name=value, number=i)


def add_message(proto, line):
    """Adds what a line of MESSAGES describes."""
    name, fields = line.split(":")
    message = proto.message_type.add(name=name)
    for enum in ENUMS:
        if enum.startswith(name + "."):
            add_enum(message, enum)
    for field in filter(str.strip, fields.split(",")):
        add_field(message, *field.split())


def build():
    """Returns all of it as a FileDescriptorProto."""
    proto = descriptor_pb2.FileDescriptorProto(
        name="tests/api/tables", package=PACKAGE, syntax="proto3",
        dependency=["google/protobuf/struct.proto",
                    "google/protobuf/timestamp.proto"])
    for enum in ENUMS:
        if "." not in enum:
            add_enum(proto, enum)
    for line in re.sub(r"\n +", " ", MESSAGES).strip().split("\n"):
        add_message(proto, line)
    service = proto.service.add(name=SERVICE)
    for line in METHODS.strip().split("\n"):
        name, request, reply = line.split()
        service.method.add(name=name,
                           input_type=".%s.%s" % (PACKAGE, request),
                           output_type=".%s.%s" % (PACKAGE, reply))
    return proto


FILE = build()
_POOL = descriptor_pool.Default()
_POOL.AddSerializedFile(FILE.SerializeToString())
_FACTORY = message_factory.MessageFactory(_POOL)


def get_message(name):
    """Returns the class of the messages 'name'."""
    return _FACTORY.GetPrototype(
        _POOL.FindMessageTypeByName("%s.%s" % (PACKAGE, name)))


def get_methods():
    """Returns for each method its path and the classes of request and
    reply."""
    return {m.name: ("/%s.%s/%s" % (PACKAGE, SERVICE, m.name),
                     get_message(m.input_type.rpartition(".")[2]),
                     get_message(m.output_type.rpartition(".")[2]))
            for m in FILE.service[0].method}
