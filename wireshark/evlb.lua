-- SPDX-License-Identifier: Apache-2.0
--
-- A Wireshark dissector for event traffic: the load-balancer (LB) header, the
-- reassembly (RE) header, and Sync datagrams, as docs/wire.md describes them.
-- docs/wireshark.md says how to use it.
--
-- A datagram is taken
--
--   * for an event packet if it goes to the canonical port, whatever it starts
--     with, or by its magic if it goes to a port that events may go to;
--   * for a Sync datagram by its magic, on any port;
--   * for what the balancer leaves of an event packet when it removes the LB
--     header, by an RE header that fits the datagram.
--
-- A capture may hold only the start of a packet.  So the bytes that were
-- captured bound what is read, and the bytes that were on the wire decide
-- whether a packet was too short.

local LB_MAGIC, LB_LEN = 0x4c42, 16
local RE_LEN, RE_START = 20, 0x1000
local SYNC_MAGIC, SYNC_LEN = 0x4c43, 28
local CANONICAL_PORT, FIRST_PORT, LAST_PORT = 19522, 16384, 32767

local lb = Proto("evlb", "Event Load Balancer")
local re = Proto("evlb.re", "Event Reassembly")
local sync = Proto("evlb.sync", "Event Sync")

-- All fields and faults by their names, without "evlb." in front.
local fields, faults = {}, {}

local function add_fields(proto, list)
    local result = {}
    for _, field in ipairs(list) do
        local name, kind = field[1], field[2]
        fields[name] = ProtoField[kind]("evlb." .. name,
                                        table.unpack(field, 3))
        table.insert(result, fields[name])
    end
    proto.fields = result
end

local function add_faults(proto, list)
    local result = {}
    for _, fault in ipairs(list) do
        local name, text, group, severity = table.unpack(fault)
        faults[name] = ProtoExpert.new("evlb." .. name, text,
                                       expert.group[group],
                                       expert.severity[severity])
        table.insert(result, faults[name])
    end
    proto.experts = result
end

add_fields(lb, {
    { "magic", "uint16", "Magic", base.HEX },
    { "version", "uint8", "Version" },
    { "proto", "uint8", "Next header", base.DEC, { [1] = "RE header" } },
    { "reserved", "uint16", "Reserved", base.HEX },
    { "slot_select", "uint16", "Slot select" },
    { "entropy", "uint16", "Port select (entropy)" },
    { "tick", "uint64", "Tick" },
    { "data", "bytes", "Data behind the header" },
})
add_faults(lb, {
    { "short", "Shorter than an LB header", "MALFORMED", "ERROR" },
    { "cut", "The header was not captured whole", "UNDECODED", "NOTE" },
    { "bad_magic", "Magic is not 0x4c42", "MALFORMED", "ERROR" },
    { "bad_version", "Version is neither 2 nor 3", "MALFORMED", "ERROR" },
    { "bad_reserved", "Reserved field of version 2 is not 0", "PROTOCOL",
      "NOTE" },
    { "bad_proto", "No RE header follows", "UNDECODED", "NOTE" },
})

add_fields(re, {
    { "re.version", "uint8", "Version", base.DEC, nil, 0xf0 },
    { "re.reserved", "uint16", "Reserved", base.HEX, nil, 0x0fff },
    { "re.data_id", "uint16", "Data id" },
    { "re.offset", "uint32", "Offset" },
    { "re.length", "uint32", "Length of the event's data" },
    { "re.event", "uint64", "Event number" },
    { "re.segment", "bytes", "Segment of the event's data" },
    { "re.segment_len", "uint32", "Length of the segment" },
})
add_faults(re, {
    { "re.short", "Shorter than an RE header", "MALFORMED", "ERROR" },
    { "re.cut", "The header was not captured whole", "UNDECODED", "NOTE" },
    { "re.bad_version", "Does not start with 10 00", "MALFORMED", "ERROR" },
    { "re.overrun", "The segment ends beyond the event's data", "MALFORMED",
      "ERROR" },
})

add_fields(sync, {
    { "sync.magic", "uint16", "Magic", base.HEX },
    { "sync.version", "uint8", "Version" },
    { "sync.reserved", "uint8", "Reserved", base.HEX },
    { "sync.source_id", "uint32", "Source id" },
    { "sync.tick", "uint64", "Tick" },
    { "sync.rate", "uint32", "Ticks a second" },
    { "sync.unix_ns", "uint64", "UNIX time in nanoseconds" },
    { "sync.time", "absolute_time", "UNIX time", base.UTC },
})
add_faults(sync, {
    { "sync.bad_length", "Length is not 28 bytes", "MALFORMED", "ERROR" },
    { "sync.cut", "The datagram was not captured whole", "UNDECODED",
      "NOTE" },
    { "sync.bad_magic", "Magic is not 0x4c43", "MALFORMED", "ERROR" },
    { "sync.bad_version", "Version is not 2", "MALFORMED", "ERROR" },
})

-- Adds to 'tree' the field 'name', which is 'range'.
local function add(tree, name, range)
    return tree:add(fields[name], range)
end

local function fault(item, name)
    item:add_proto_expert_info(faults[name])
end

-- Shows the RE header at 'offset' in 'tvb', and the segment behind it.  Returns
-- words for the column of information.
local function dissect_re(tvb, offset, tree)
    local on_wire = tvb:reported_len() - offset
    local captured = tvb:captured_len() - offset
    local item = tree:add(re, tvb(offset))

    if on_wire < RE_LEN or captured < RE_LEN then
        local what = on_wire < RE_LEN and "short" or "cut"
        fault(item, "re." .. what)
        return "RE " .. what
    end

    local start, length = tvb(offset, 2), tvb(offset + 8, 4)
    local position, data = tvb(offset + 4, 4), on_wire - RE_LEN
    local version_item = add(item, "re.version", start(0, 1))
    add(item, "re.reserved", start)
    add(item, "re.data_id", tvb(offset + 2, 2))
    add(item, "re.offset", position)
    local length_item = add(item, "re.length", length)
    add(item, "re.event", tvb(offset + 12, 8))
    item:add(fields["re.segment_len"], start, data):set_generated()
    if captured > RE_LEN then
        add(item, "re.segment", tvb(offset + RE_LEN))
    end

    if start:uint() ~= RE_START then
        fault(version_item, "re.bad_version")
        return "RE bad version"
    end
    if position:uint() + data > length:uint() then
        fault(length_item, "re.overrun")
    end
    return string.format("event %s data %d offset %d+%d/%d",
                         tostring(tvb(offset + 12, 8):uint64()),
                         tvb(offset + 2, 2):uint(), position:uint(), data,
                         length:uint())
end

-- Shows the LB header whose version is good, and what follows.
local function dissect_good_lb(tvb, item, tree)
    local version, proto = tvb(2, 1):uint(), tvb(3, 1):uint()
    local info = string.format("v%d tick %s entropy %d", version,
                               tostring(tvb(8, 8):uint64()),
                               tvb(6, 2):uint())
    local next_header = add(item, "proto", tvb(3, 1))

    if version == 2 then
        local reserved = add(item, "reserved", tvb(4, 2))
        if tvb(4, 2):uint() ~= 0 then
            fault(reserved, "bad_reserved")
        end
        add(item, "slot_select", tvb(14, 2)):set_generated()
    else
        add(item, "slot_select", tvb(4, 2))
    end
    add(item, "entropy", tvb(6, 2))
    add(item, "tick", tvb(8, 8))

    if proto == 1 then
        return info .. " " .. dissect_re(tvb, LB_LEN, tree)
    end
    fault(next_header, "bad_proto")
    if tvb:captured_len() > LB_LEN then
        add(item, "data", tvb(LB_LEN))
    end
    return info
end

-- Shows the LB header in 'tvb'.  Returns words about it.
local function dissect_lb(tvb, tree)
    local on_wire, captured = tvb:reported_len(), tvb:captured_len()
    local item = tree:add(lb, tvb(0, math.min(captured, LB_LEN)))

    if on_wire < LB_LEN or captured < LB_LEN then
        local what = on_wire < LB_LEN and "short" or "cut"
        fault(item, what)
        return "LB " .. what
    end

    local magic = add(item, "magic", tvb(0, 2))
    local version = add(item, "version", tvb(2, 1))
    if tvb(0, 2):uint() ~= LB_MAGIC then
        fault(magic, "bad_magic")
        return "LB bad magic"
    end
    if tvb(2, 1):uint() ~= 2 and tvb(2, 1):uint() ~= 3 then
        fault(version, "bad_version")
        return string.format("LB bad version %d", tvb(2, 1):uint())
    end
    return dissect_good_lb(tvb, item, tree)
end

-- Shows the fields of the whole Sync datagram in 'tvb'.
local function dissect_good_sync(tvb, item)
    local ns = tvb(20, 8):uint64()
    local time = NSTime.new((ns / 1000000000):tonumber(),
                            (ns % 1000000000):tonumber())

    add(item, "sync.reserved", tvb(3, 1))
    add(item, "sync.source_id", tvb(4, 4))
    add(item, "sync.tick", tvb(8, 8))
    add(item, "sync.rate", tvb(16, 4))
    add(item, "sync.unix_ns", tvb(20, 8))
    item:add(fields["sync.time"], tvb(20, 8), time):set_generated()
    return string.format("source %d tick %s rate %d", tvb(4, 4):uint(),
                         tostring(tvb(8, 8):uint64()), tvb(16, 4):uint())
end

-- Shows the Sync datagram in 'tvb'.  Returns words about it.
local function dissect_sync(tvb, tree)
    local item = tree:add(sync, tvb())

    if tvb:reported_len() ~= SYNC_LEN then
        fault(item, "sync.bad_length")
        return string.format("Sync bad length %d", tvb:reported_len())
    end
    if tvb:captured_len() < SYNC_LEN then
        fault(item, "sync.cut")
        return "Sync cut"
    end

    local magic = add(item, "sync.magic", tvb(0, 2))
    local version = add(item, "sync.version", tvb(2, 1))
    if tvb(0, 2):uint() ~= SYNC_MAGIC then
        fault(magic, "sync.bad_magic")
        return "Sync bad magic"
    end
    if tvb(2, 1):uint() ~= 2 then
        fault(version, "sync.bad_version")
        return string.format("Sync bad version %d", tvb(2, 1):uint())
    end
    return dissect_good_sync(tvb, item)
end

-- Makes of 'dissect' the dissector of 'proto', whose column is 'name'.
local function set_dissector(proto, name, dissect)
    proto.dissector = function(tvb, pinfo, tree)
        pinfo.cols.protocol:set(name)
        pinfo.cols.info:set(dissect(tvb, tree))
        return tvb:captured_len()
    end
end

set_dissector(lb, "EVLB", dissect_lb)
set_dissector(re, "EVLB-RE", function(tvb, tree)
    return dissect_re(tvb, 0, tree)
end)
set_dissector(sync, "EVLB-SYNC", dissect_sync)

-- Has 'proto' dissect datagrams for which 'looks_right' holds.
local function add_heuristic(proto, looks_right)
    proto:register_heuristic("udp", function(tvb, pinfo, tree)
        if not looks_right(tvb, pinfo) then
            return false
        end
        proto.dissector(tvb, pinfo, tree)
        return true
    end)
end

local function starts_with(tvb, magic)
    return tvb:captured_len() >= 2 and tvb(0, 2):uint() == magic
end

add_heuristic(lb, function(tvb, pinfo)
    return pinfo.dst_port >= FIRST_PORT and pinfo.dst_port <= LAST_PORT
           and starts_with(tvb, LB_MAGIC)
end)

add_heuristic(sync, function(tvb)
    return starts_with(tvb, SYNC_MAGIC) and tvb:captured_len() >= 3
           and (tvb:reported_len() == SYNC_LEN or tvb(2, 1):uint() == 2)
end)

add_heuristic(re, function(tvb)
    local data = tvb:reported_len() - RE_LEN

    return tvb:captured_len() >= RE_LEN and starts_with(tvb, RE_START)
           and tvb(4, 4):uint() + data <= tvb(8, 4):uint()
           and (data > 0 or tvb(8, 4):uint() == 0)
end)

local ports = DissectorTable.get("udp.port")
ports:add(CANONICAL_PORT, lb)
for _, proto in ipairs({ lb, re, sync }) do
    ports:add_for_decode_as(proto)
end
