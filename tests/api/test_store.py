# SPDX-License-Identifier: Apache-2.0

"""What the control API answered survives, and what cannot be stored is
refused: evlbd is killed under load, and its disk is full."""

import os
import random
import subprocess
import sys
import threading
import time

import grpc

from evlbd import (METHODS, ROOT, Evlbd, add_workers, refused, report,
                   wait_for)

# Another number for longer runs.
KILLS = int(os.environ.get("EVLB_KILLS", "6"))


class Load(threading.Thread):
    """Registers and deregisters workers until evlbd is gone, and remembers
    what was answered."""

    def __init__(self, client, lb_id, rng, address):
        super().__init__()
        self.client = client
        self.lb_id = lb_id
        self.rng = random.Random(rng.random())
        self.address = address
        self.there = {}         # Session to token: registered for sure.
        self.gone = set()       # Deregistered for sure.
        self.n = 0
        self.error = None
        self.start()

    def call(self, method, token, **fields):
        return self.client.with_token(token).get_call(method)(
            METHODS[method][1](lbId=self.lb_id, **fields), timeout=10,
            metadata=[("authorization", "Bearer " + token)])

    def step(self):
        if self.there and self.rng.random() < 0.4:
            session, token = self.rng.choice(list(self.there.items()))
            del self.there[session]     # Either, while it is not answered.
            self.call("Deregister", token, sessionId=session)
            self.gone.add(session)
        else:
            self.n += 1
            reply = self.call("Register", self.client.token, name="w",
                              udpPort=1000 + self.n, ipAddress=self.address)
            self.there[reply.sessionId] = reply.token

    def run(self):
        try:
            while len(self.there) < 150:
                self.step()
        except grpc.RpcError as error:
            self.error = error.code().name


def get_sessions(client, lb_id):
    return {str(worker.sessionId)
            for worker in client.LoadBalancerStatus(lbId=lb_id).workers}


def test_killed_under_load(start):
    """Each registration that was answered is there after SIGKILL, and its
    token is; each that was taken back is not."""
    evlbd = start()
    rng = random.Random(8)
    n_there = 0
    for _ in range(KILLS):
        admin = evlbd.client()
        reserved = admin.ReserveLoadBalancer(name="load")
        loads = [Load(evlbd.client(reserved.token), reserved.lbId, rng,
                      "10.0.%d.1" % i) for i in range(3)]
        time.sleep(0.05 + rng.random() * 0.4)
        evlbd.stop(9)
        for load in loads:
            load.join()
        evlbd.start()
        admin = evlbd.client()
        sessions = get_sessions(admin, reserved.lbId)
        for load in loads:
            assert load.error in (None, "UNAVAILABLE")
            assert load.there.keys() <= sessions
            assert not load.gone & sessions
            n_there += len(load.there)
            for session, token in list(load.there.items())[:3]:
                report((admin.with_token(token), session), reserved.lbId)
        admin.FreeLoadBalancer(lbId=reserved.lbId)
        # Ids that were given are not given again.
        again = admin.ReserveLoadBalancer(name="again")
        assert int(again.lbId) > int(reserved.lbId)
        admin.FreeLoadBalancer(lbId=again.lbId)
    assert n_there > 10 * KILLS


def test_history_survives(start):
    """What a worker reported is there after SIGKILL, with what came later."""
    evlbd = start(reservations="period = 100;")
    reserved = evlbd.client().ReserveLoadBalancer(name="r")
    client = evlbd.client(reserved.token)
    worker, = add_workers(client, reserved.lbId, 1)
    report(worker, reserved.lbId, totalEventsRecv=7)

    def get_values(client):
        name = "/lb/%s/session/%s/totalEventsRecv" % (reserved.lbId,
                                                      worker[1])
        series = client.Timeseries(seriesSelector=[name]).timeseries
        return [sample.value for one in series
                for sample in one.integer_samples.data]
    wait_for(lambda: 7 in get_values(client), "the series")
    evlbd.restart()
    client = evlbd.client(reserved.token)
    assert 7 in get_values(client)
    worker = (client.with_token(worker[0].token), worker[1])
    report(worker, reserved.lbId, totalEventsRecv=8)
    wait_for(lambda: get_values(client)[-1:] == [8], "another value")
    assert 7 in get_values(client)


# ---------------------------------------------------------------------------
# A full disk, in a mount namespace.


def test_disk_full(tmp_path):
    """Changes are refused with the reason, and taken again when there is
    room."""
    done = subprocess.run(
        ["timeout", "-s", "KILL", "120", "unshare", "-m", sys.executable, "-B",
         __file__, str(tmp_path)], check=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def fill(directory):
    """Takes all room that there is."""
    with open(directory + "/ballast", "wb", buffering=0) as out:
        try:
            while True:
                out.write(bytes(4096))
        except OSError:
            pass


def run_disk_full(directory):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs",
                    directory], check=True)
    evlbd = Evlbd(directory, reservations="period = 100;")
    try:
        admin = evlbd.client()
        reserved = admin.ReserveLoadBalancer(name="r")
        client = evlbd.client(reserved.token)
        workers = add_workers(client, reserved.lbId, 4)
        fill(directory)
        # What SQLite has in its file already is used up first.
        for i in range(5, 3000):
            try:
                workers += add_workers(client, reserved.lbId, 1, first=1,
                                       udpPort=20000 + 8 * i)
            except grpc.RpcError:
                break
        with refused("UNAVAILABLE", "database or disk is full"):
            client.Register(lbId=reserved.lbId, name="w", udpPort=1000,
                            ipAddress="10.0.0.200")
        report(workers[0], reserved.lbId)       # Not stored, and so accepted.
        before = get_sessions(admin, reserved.lbId)
        assert before == {session for _, session in workers}
        wait_for(lambda: "not_stored" in {
            issue.type for issue in admin.LoadBalancerStatus(
                lbId=reserved.lbId).healthIssues}, "the issue")

        os.unlink(directory + "/ballast")
        workers += add_workers(client, reserved.lbId, 1, first=201)
        evlbd.restart()
        assert get_sessions(evlbd.client(ROOT), reserved.lbId) == {
            session for _, session in workers}
    finally:
        evlbd.close()


if __name__ == "__main__":
    run_disk_full(sys.argv[1])
