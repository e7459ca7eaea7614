# SPDX-License-Identifier: Apache-2.0
"""A laboratory: hosts, a patched Open vSwitch, and evlbd, on one machine.

A program that calls enter() goes on in mount, network and PID namespaces of
its own.  All that it starts ends with it, however it ends, its network
namespaces and sockets included, so that nothing of an aborted run is left and
any number of laboratories can run side by side.
"""

import json
import os
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OVS = os.path.join(TOP, "build", "ovs")
BIN = os.path.join(TOP, "build", "bin")
RUN = "/run/evlb-lab"
INSIDE = "EVLB_LAB"


class LabError(Exception):
    """Something did not work that has to."""


def enter():
    """Goes on in namespaces of the program's own."""
    if os.environ.get(INSIDE) == "inside":
        # /run is where sockets, process ids and names of network namespaces
        # are: a fresh one hides the machine's.
        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        os.makedirs(RUN)
        run("ip", "link", "set", "lo", "up")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return
    if os.geteuid() != 0:
        sys.exit("%s: must be run as root (network namespaces)" % sys.argv[0])
    for program in ("evlbd", "evlb-send", "evlb-recv"):
        if not os.path.exists(os.path.join(BIN, program)):
            sys.exit("%s: build/bin/%s is missing; run make first"
                     % (sys.argv[0], program))
    os.environ[INSIDE] = "inside"
    os.execvp("unshare", ["unshare", "--mount", "--net", "--pid", "--fork",
                          "--kill-child", "--mount-proc", "--propagation",
                          "private", sys.executable] + sys.argv)


def run(*command, **kwargs):
    """Runs 'command' to its end and returns what it prints."""
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True,
                            check=False, **kwargs)
    if result.returncode:
        raise LabError("%s failed (%d): %s" % (" ".join(command),
                                               result.returncode,
                                               result.stdout.strip()))
    return result.stdout


def wait_for(what, condition, seconds=20):
    """Waits until 'condition()' is true, and returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise LabError("waited %d s in vain for %s" % (seconds, what))
        time.sleep(0.02)


def last_json(text):
    """Returns the JSON object that a program has printed last."""
    start = text.rfind("\n{")
    return json.loads(text[start + 1:])


class Process:
    """A program that runs beside us, with its output in a file."""

    def __init__(self, name, command, directory, namespace=None, env=None):
        self.name = name
        self.output = os.path.join(directory, name + ".out")
        if namespace:
            command = ["ip", "netns", "exec", namespace] + command
        with open(self.output, "w", encoding="utf-8") as out:
            self.popen = subprocess.Popen(command, stdout=out, stderr=out,
                                          stdin=subprocess.DEVNULL, env=env)

    def text(self):
        """Returns what the program has printed up to now."""
        with open(self.output, encoding="utf-8", errors="replace") as out:
            return out.read()

    def check_alive(self):
        """Raises an error if the program has ended."""
        if self.popen.poll() is not None:
            raise LabError("%s ended (%d): %s" % (self.name,
                                                  self.popen.returncode,
                                                  self.text().strip()))

    def wait(self, seconds):
        """Waits until the program ends; it must do so without an error."""
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise LabError("%s did not end within %d s"
                           % (self.name, seconds)) from None
        if code:
            raise LabError("%s ended (%d): %s" % (self.name, code,
                                                  self.text().strip()))

    def signal(self, number):
        """Sends the program a signal."""
        self.popen.send_signal(number)

    def stop(self):
        """Ends the program, if it is still there."""
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(5)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()


def add_probe():
    """Adds the interfaces by which evlbd measures how long a change takes:
    probe1 is its own, and probe0 goes on the bridge."""
    run("ip", "link", "add", "probe0", "type", "veth", "peer", "name",
        "probe1")
    for probe in ("probe0", "probe1"):
        run("sysctl", "-qw", "net.ipv6.conf.%s.disable_ipv6=1" % probe)
        run("ip", "link", "set", probe, "up")


class Host:
    """A network namespace with one Ethernet port, eth0, on a bridge."""

    def __init__(self, name, mac, addresses, mtu=9000):
        self.name = name
        self.mac = mac
        self.addresses = addresses
        run("ip", "netns", "add", name)
        run("ip", "link", "add", name, "mtu", str(mtu), "type", "veth",
            "peer", "name", "eth0", "mtu", str(mtu), "address", mac,
            "netns", name)
        self.run("ip", "link", "set", "lo", "up")
        # Addresses are usable at once, and no router or other host is asked.
        self.run("sysctl", "-qw", "net.ipv6.conf.eth0.accept_dad=0",
                 "net.ipv6.conf.eth0.accept_ra=0",
                 "net.ipv6.conf.eth0.router_solicitations=0")
        # The switch's data path does not fill in checksums left to hardware.
        self.run("ethtool", "-K", "eth0", "tx", "off")
        for address in addresses:
            self.run("ip", "address", "add", address, "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        # The switch's end is no host, and says nothing of its own.
        run("sysctl", "-qw", "net.ipv6.conf.%s.disable_ipv6=1" % name)
        run("ip", "link", "set", name, "up")

    def run(self, *command):
        """Runs 'command' on the host and returns what it prints."""
        return run("ip", "netns", "exec", self.name, *command)

    def start(self, name, command, directory):
        """Starts 'command' on the host."""
        return Process(name, command, directory, self.name)


class Switch:
    """The patched Open vSwitch with one bridge, on the userspace datapath."""

    def __init__(self, directory, bridge, datapath_id):
        self.bridge = bridge
        self.directory = directory
        self.env = dict(os.environ, OVS_RUNDIR=RUN, OVS_DBDIR=RUN,
                        OVS_LOGDIR=directory)
        self.socket = "unix:%s/db.sock" % RUN
        database = os.path.join(RUN, "conf.db")
        self.tool("ovsdb-tool", "create", database,
                  os.path.join(OVS, "share", "openvswitch",
                               "vswitch.ovsschema"))
        self.database = Process(
            "ovsdb-server", [os.path.join(OVS, "sbin", "ovsdb-server"),
                             "--remote=p" + self.socket, database],
            directory, env=self.env)
        wait_for("ovsdb-server", lambda: os.path.exists(self.socket[5:]))
        self.vsctl("--no-wait", "init")
        self.switch = self.start_switch()
        self.vsctl("add-br", bridge, "--", "set", "bridge", bridge,
                   "datapath_type=netdev", "fail_mode=secure",
                   "protocols=OpenFlow15",
                   "other_config:datapath-id=" + datapath_id,
                   "other_config:disable-in-band=true")

    def start_switch(self):
        """Starts ovs-vswitchd, ahead of other programs on a busy machine: a
        socket of its data path holds no more than some 90 packets, and then
        loses them."""
        return Process("ovs-vswitchd",
                       ["nice", "-n", "-15",
                        os.path.join(OVS, "sbin", "ovs-vswitchd"),
                        self.socket, "--no-chdir", "--pidfile"],
                       self.directory, env=self.env)

    def restart(self):
        """Restarts ovs-vswitchd, which forgets all flows."""
        self.switch.stop()
        self.switch = self.start_switch()

    def tool(self, program, *args):
        """Runs one of Open vSwitch's tools and returns what it prints."""
        return run(os.path.join(OVS, "bin", program), *args, env=self.env)

    def vsctl(self, *args):
        """Runs ovs-vsctl."""
        return self.tool("ovs-vsctl", "--timeout=20", *args)

    def ofctl(self, command, *args):
        """Runs ovs-ofctl with OpenFlow 1.5 on the bridge."""
        options = [arg for arg in args if arg.startswith("--")]
        return self.tool("ovs-ofctl", "-O", "OpenFlow15", *options, command,
                         self.bridge,
                         *[arg for arg in args if arg not in options])

    def appctl(self, *args):
        """Runs ovs-appctl on ovs-vswitchd."""
        return self.tool("ovs-appctl", *args)

    def set_controller(self, controller):
        """Has the bridge connect to 'controller'."""
        self.vsctl("set-controller", self.bridge, controller)

    def start(self, name, command):
        """Starts a daemon with the directories of this switch."""
        saved = dict(os.environ)
        os.environ.update(self.env)
        try:
            return Process(name, command, self.directory)
        finally:
            os.environ.clear()
            os.environ.update(saved)

    def add_port(self, name):
        """Puts the interface 'name' on the bridge."""
        self.vsctl("add-port", self.bridge, name)

    def stop(self):
        """Ends the switch."""
        self.switch.stop()
        self.database.stop()


class Controller:
    """evlbd, with its configuration in 'directory'."""

    def __init__(self, directory, configuration):
        self.config = os.path.join(directory, "evlb.conf")
        self.epoch_log = os.path.join(directory, "epochs.json")
        self.write(configuration)
        self.process = Process(
            "evlbd", [os.path.join(BIN, "evlbd"), "-c", self.config,
                      "--epoch-log", self.epoch_log], directory)

    def write(self, configuration):
        """Writes the configuration."""
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(configuration)

    def reload(self, configuration):
        """Changes the configuration in service."""
        self.write(configuration)
        self.process.signal(signal.SIGHUP)

    def epochs(self):
        """Returns what the log of epochs says."""
        try:
            with open(self.epoch_log, encoding="utf-8") as log:
                return [json.loads(line) for line in log
                        if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def wait_for_epoch(self, instance, epoch):
        """Waits until a switch has committed 'epoch' of 'instance'."""
        def committed():
            self.process.check_alive()
            return [e for e in self.epochs()
                    if e["instance"] == instance and e["epoch"] == epoch]
        return wait_for("epoch %d of %s" % (epoch, instance), committed)[0]
