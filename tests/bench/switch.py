# SPDX-License-Identifier: Apache-2.0
"""A private Open vSwitch with DPDK, and the hugepages that it needs.

Everything that is started or reserved here is a context manager and is gone
after it: the daemons run in a network namespace and a directory of their own,
and the hugepages are given back.
"""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
CLONE_NEWNET = 0x40000000
BRIDGE = "br0"


class Unavailable(Exception):
    """This machine cannot do it; the text says why."""


def run(*words, text=None, env=None):
    """Runs a command and returns what it prints; raises if it fails."""
    done = subprocess.run([str(w) for w in words], input=text, text=True,
                          capture_output=True, env=env)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))[:200]}: "
                           f"{done.stderr.strip()[:2000]}")
    return done.stdout


def wait_until(what, condition, seconds=20):
    """Waits until 'condition' returns a true value, and returns it."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


@contextlib.contextmanager
def hugepages(megabytes):
    """Reserves 2-MB hugepages on top of those that are in use."""
    try:
        with open(HUGEPAGES) as f:
            before = int(f.read())
        with open("/proc/meminfo") as f:
            free = int(re.search(r"HugePages_Free: *(\d+)", f.read())[1])
        want = max(before, before - free + megabytes // 2)
        set_hugepages(want)
    except OSError as e:
        raise Unavailable(f"no hugepages: {e}") from e
    try:
        with open(HUGEPAGES) as f:
            got = int(f.read())
        if got < want:
            raise Unavailable(f"only {got} of {want} hugepages can be had")
        yield
    finally:
        set_hugepages(before)


def set_hugepages(n):
    with open(HUGEPAGES, "w") as f:
        f.write(str(n))


def enter_namespace():
    """Moves this process into a network namespace of its own, so that the
    switch's devices meet those of no other."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise Unavailable("no network namespace of its own: "
                          + os.strerror(ctypes.get_errno()))


def choose_cpus():
    """Returns the CPU for the packet thread and keeps this process, and all
    that it starts, off it, if there is another."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 1:
        os.sched_setaffinity(0, cpus[:-1])
    return cpus[-1]


class Switch:
    """A running switch with one bridge, one packet thread, and no flows."""

    def __init__(self, prefix, pmd_cpu, directory):
        self.prefix = prefix
        self.dir = directory
        self.pmd_cpu = pmd_cpu
        self.daemons = []
        self.env = dict(os.environ, OVS_RUNDIR=directory, OVS_DBDIR=directory,
                        OVS_LOGDIR=directory, OVS_SYSCONFDIR=directory)

    def tool(self, name, *words, text=None):
        path = next(p for p in (f"{self.prefix}/bin/{name}",
                                f"{self.prefix}/sbin/{name}")
                    if os.path.exists(p))
        return run(path, *words, text=text, env=self.env)

    def vsctl(self, *words):
        return self.tool("ovs-vsctl", f"--db=unix:{self.dir}/db.sock", *words)

    def appctl(self, *words):
        return self.tool("ovs-appctl", "-t", f"{self.dir}/vswitchd.ctl",
                         *words)

    def ofctl(self, command, *words, text=None):
        return self.tool("ovs-ofctl", "-O", "OpenFlow15", command, BRIDGE,
                         *words, text=text)

    def start(self):
        sbin = f"{self.prefix}/sbin"
        db = f"{self.dir}/conf.db"
        self.tool("ovsdb-tool", "create", db,
                  f"{self.prefix}/share/openvswitch/vswitch.ovsschema")
        self._spawn(f"{sbin}/ovsdb-server", db,
                    f"--remote=punix:{self.dir}/db.sock",
                    f"--unixctl={self.dir}/db.ctl")
        wait_until("ovsdb-server",
                   lambda: os.path.exists(f"{self.dir}/db.sock"))
        self.vsctl("--no-wait", "init")
        self.vsctl("--no-wait", "set", "open", ".",
                   "other_config:dpdk-init=true",
                   "other_config:dpdk-extra=--no-pci -m 512",
                   f"other_config:pmd-cpu-mask={1 << self.pmd_cpu:#x}")
        self.vswitchd = self._spawn(f"{sbin}/ovs-vswitchd",
                                    f"unix:{self.dir}/db.sock",
                                    f"--unixctl={self.dir}/vswitchd.ctl")
        wait_until("ovs-vswitchd",
                   lambda: os.path.exists(f"{self.dir}/vswitchd.ctl"))
        self.vsctl("add-br", BRIDGE, "--", "set", "bridge", BRIDGE,
                   "datapath_type=netdev", "fail_mode=secure")

    def _spawn(self, program, *words):
        name = os.path.basename(program)
        log = open(f"{self.dir}/{name}.log", "w")
        daemon = subprocess.Popen([program, *words], env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, cwd=self.dir,
                                  start_new_session=True)
        self.daemons.append(daemon)
        return daemon

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons = []

    def log(self):
        with open(f"{self.dir}/ovs-vswitchd.log") as f:
            return f.read()

    # Ports.

    def add_port(self, name, number, devargs, mtu=None, down=False):
        """Adds a DPDK port; 'down' keeps it from receiving."""
        words = ["add-port", BRIDGE, name, "--", "set", "interface", name,
                 "type=dpdk", f"ofport_request={number}",
                 f"options:dpdk-devargs={json.dumps(devargs)}"]
        if mtu:
            words.append(f"mtu_request={mtu}")
        self.vsctl(*words)
        error = self.vsctl("get", "interface", name, "error").strip()
        if error != "[]":
            raise RuntimeError(f"port {name}: {error}\n{self.log()[-2000:]}")
        if down:
            self.set_port(name, False)

    def set_port(self, name, up):
        self.ofctl("mod-port", name, "up" if up else "down")

    def sent(self, name):
        """Returns the number of packets sent through port 'name', and when
        that was."""
        before = time.monotonic()
        text = self.ofctl("dump-ports", name)
        now = (before + time.monotonic()) / 2
        return int(re.search(r"tx pkts=(\d+)", text)[1]), now

    # The packet thread.

    def pmd_thread(self):
        """Returns the thread ID of the packet thread, made urgent."""
        tasks = f"/proc/{self.vswitchd.pid}/task"

        def find():
            for tid in os.listdir(tasks):
                with open(f"{tasks}/{tid}/comm") as f:
                    if f.read().startswith("pmd-"):
                        return int(tid)

        tid = wait_until("a packet thread", find)
        os.setpriority(os.PRIO_PROCESS, tid, -20)
        # Sessions share the CPU first, and threads only what their session
        # got.
        with contextlib.suppress(OSError):
            with open(f"/proc/{self.vswitchd.pid}/autogroup", "w") as f:
                f.write("-20")
        return tid

    def pmd_stats(self):
        """Returns the counters of the packet thread as {name: number}."""
        stats = {}
        for line in self.appctl("dpif-netdev/pmd-stats-show").splitlines():
            if line.startswith("main thread"):
                break
            m = re.match(r"  ([a-z .]+): ([\d.]+)", line)
            if m:
                stats[m[1]] = float(m[2])
        return stats

    def set_caches(self, emc, smc):
        self.vsctl("set", "open", ".",
                   f"other_config:emc-insert-inv-prob={int(emc)}",
                   f"other_config:smc-enable={'true' if smc else 'false'}")

    def megaflows(self):
        """Returns the datapath flows, one line each."""
        return [line for line in self.appctl("dpctl/dump-flows",
                                             "-m").splitlines()
                if "recirc_id(" in line]

    # OpenFlow.

    def clear(self):
        """Removes all flows, groups and datapath flows.  No packets may be
        arriving."""
        self.ofctl("del-flows")
        self.ofctl("del-groups")
        self.appctl("revalidator/purge")
        wait_until("purge of datapath flows", lambda: not self.megaflows())

    def bundle(self, lines):
        """Applies 'flow ...' and 'group ...' lines as one transaction."""
        self.ofctl("bundle", "-", text="\n".join(lines) + "\n")


@contextlib.contextmanager
def switch(prefix, pmd_cpu):
    directory = tempfile.mkdtemp(prefix="evlb-bench-")
    s = Switch(os.path.abspath(prefix), pmd_cpu, directory)
    try:
        try:
            s.start()
        except (RuntimeError, OSError) as e:
            raise RuntimeError(f"{e}\n{s.log()[-3000:]}") from e
        yield s
    finally:
        s.stop()
        shutil.rmtree(directory, ignore_errors=True)


def exit_on_signals():
    """Lets SIGTERM and SIGHUP unwind as SIGINT does, so that nothing is left
    behind."""
    def leave(number, _frame):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
