# SPDX-License-Identifier: Apache-2.0
"""Network namespaces: a private one for this process, and hosts behind veth
pairs that live in namespaces of their own."""

import ctypes
import os
import subprocess

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def run(*command):
    """Runs 'command' and returns its output; raises with what it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(command), done.stdout))
    return done.stdout


def call(function, *args):
    if function(*args):
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (function.__name__,
                                         os.strerror(error)))


def set_namespace(fd):
    call(libc.setns, fd, CLONE_NEWNET)


def enter_private():
    """Moves this process to a network namespace of its own, and hides from
    the others the names that it gives to namespaces."""
    call(libc.unshare, CLONE_NEWNET | CLONE_NEWNS)
    call(libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    os.makedirs("/run/netns", exist_ok=True)
    call(libc.mount, b"tmpfs", b"/run/netns", b"tmpfs", 0, None)
    # /sys shows the interfaces of the namespace that it was mounted in.
    call(libc.mount, b"sysfs", b"/sys", b"sysfs", 0, None)
    run("ip", "link", "set", "lo", "up")


class Host:
    """A network namespace with one interface eth0, whose peer is 'port' in
    the namespace of the test."""

    def __init__(self, name, port, mtu=1500, tx_offload=False):
        self.name = name
        self.port = port
        run("ip", "netns", "add", name)
        try:
            self.connect(mtu, tx_offload)
        except Exception:
            run("ip", "netns", "del", name)
            raise

    def connect(self, mtu, tx_offload):
        # It does not speak of its own accord.
        self.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                 "net.ipv6.conf.default.disable_ipv6=1")
        run("ip", "link", "add", self.port, "mtu", str(mtu), "type", "veth",
            "peer", "name", "eth0", "mtu", str(mtu), "netns", self.name)
        run("sysctl", "-qw", "net.ipv6.conf.%s.disable_ipv6=1" % self.port)
        if not tx_offload:
            self.run("ethtool", "-K", "eth0", "tx", "off")
        for device in ("lo", "eth0"):
            self.run("ip", "link", "set", device, "up")
        run("ip", "link", "set", self.port, "up")

    def run(self, *command):
        return run("ip", "netns", "exec", self.name, *command)

    def add_address(self, address):
        extra = ["nodad"] if ":" in address else []
        self.run("ip", "address", "add", address, "dev", "eth0", *extra)

    def mac(self):
        return self.run("cat", "/sys/class/net/eth0/address").strip()

    def inside(self, function):
        """Returns what 'function' returns when it is called in the namespace
        (sockets keep the namespace that they were made in)."""
        with open("/proc/self/ns/net") as here, \
                open("/run/netns/" + self.name) as there:
            set_namespace(there.fileno())
            try:
                return function()
            finally:
                set_namespace(here.fileno())

    def destroy(self):
        # A namespace goes in its own time; the link goes now, unless its
        # other end's namespace has taken it along.
        try:
            self.run("ip", "link", "del", "eth0")
        except RuntimeError:
            pass
        run("ip", "netns", "del", self.name)
