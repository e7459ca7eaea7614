# SPDX-License-Identifier: Apache-2.0
"""Raw sockets in a host's namespace: frames out, and frames in as they came
over the wire."""

import socket
import struct
import time

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_AUXDATA = 8
PACKET_OUTGOING = 4
SO_RCVBUFFORCE = 33

# What tpacket_auxdata's status says of a frame.
TP_STATUS_CSUMNOTREADY = 1 << 3
TP_STATUS_VLAN_VALID = 1 << 4
TP_STATUS_VLAN_TPID_VALID = 1 << 6

MARK = b"\xff" * 6 + b"\2\0\0\0\0\xff\x88\xb5" \
    + b"end of a test's frames" + bytes(24)


class Tap:
    """A packet socket on 'device' of the current namespace.  It takes no
    notice of frames to other MAC addresses than 'only', if that is given, and
    the broadcast address, to which marks go."""

    def __init__(self, device, only=None):
        self.only = only
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.bind((device, ETH_P_ALL))
        self.socket.setblocking(False)
        self.partial = 0        # Frames whose checksum was not there yet.

    def send(self, frames):
        for frame in frames:
            self.socket.send(frame)

    def receive(self):
        """Returns the next frame that came in, with its VLAN tag, or None."""
        while True:
            try:
                data, control, _, address = self.socket.recvmsg(70000, 256)
            except BlockingIOError:
                return None
            if address[2] != PACKET_OUTGOING and (
                    not self.only or data[:6] in (self.only, MARK[:6])):
                return self.with_tag(data, control)

    def with_tag(self, data, control):
        for level, kind, aux in control:
            if (level, kind) != (SOL_PACKET, PACKET_AUXDATA):
                continue
            status, tci, tpid = struct.unpack("=I12xHH", aux[:20])
            self.partial += bool(status & TP_STATUS_CSUMNOTREADY)
            if status & TP_STATUS_VLAN_VALID:
                if not status & TP_STATUS_VLAN_TPID_VALID:
                    tpid = 0x8100
                data = data[:12] + struct.pack(">HH", tpid, tci) + data[12:]
        return data

    def wait(self, seconds=20):
        """Returns the next frame that came in."""
        end = time.monotonic() + seconds
        while True:
            frame = self.receive()
            if frame is not None:
                return frame
            elif time.monotonic() > end:
                raise RuntimeError("no more frames came")
            time.sleep(.001)


def forward(sender, frames, receiver):
    """Sends 'frames', and returns what comes for them, one for each, and
    whatever else.  A frame that marks the end is sent last, when the others
    are there: the switch might let it overtake them."""
    sender.send(frames)
    got = [receiver.wait() for _ in frames]
    sender.send([MARK])
    while True:
        frame = receiver.wait()
        if frame == MARK:
            return got
        got.append(frame)
