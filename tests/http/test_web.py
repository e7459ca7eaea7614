# SPDX-License-Identifier: Apache-2.0
"""The web page, in a real browser."""

import re
import socket
import struct
import time

import pytest

from browser import ENTER, TAB, Browser


@pytest.fixture(name="browser", scope="module")
def fixture_browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(name="page")
def fixture_page(evlbd, browser):
    """The page, freshly opened, with nobody logged in."""
    browser.resize(1400, 1000)
    browser.open("http://127.0.0.1:%d/" % evlbd.port)
    browser.run("sessionStorage.clear()")
    browser.open("http://127.0.0.1:%d/" % evlbd.port)
    updated(browser)
    browser.complaints()
    return browser


@pytest.fixture(name="reserved")
def fixture_reserved(evlbd):
    """A reservation with workers that report."""
    world = Reserved(evlbd)
    yield world
    world.free()


class Reserved:
    """A reservation, its senders and its workers."""

    def __init__(self, evlbd):
        self.evlbd = evlbd
        self.reply = evlbd.call("ReserveLoadBalancer", {
            "name": "hall-d", "senderAddresses": ["192.0.2.17"]})
        self.lb = self.reply["lbId"]
        self.workers = []

    def register(self, name, fill):
        worker = self.evlbd.call("Register", {
            "lbId": self.lb, "name": name, "ipAddress": "127.0.0.9",
            "udpPort": 10000 + len(self.workers)}, self.reply["token"])
        self.workers.append(worker)
        self.report(worker, fill)
        return worker

    def report(self, worker, fill):
        self.evlbd.call("SendState", {
            "lbId": self.lb, "sessionId": worker["sessionId"],
            "isReady": True, "fillPercent": fill}, worker["token"])

    def sync(self, tick):
        """Tells, as the senders, that the ticks are at 'tick'."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(struct.pack(">2sBBIQIQ", b"LC", 2, 0, 1, tick,
                                    1000000, time.time_ns()),
                        ("127.0.0.1",
                         self.evlbd.sync[self.reply["fpgaLbId"]]))

    def free(self):
        self.evlbd.call("FreeLoadBalancer", {"lbId": self.lb})


def updates(browser):
    return int(browser.run("return document.body.dataset.updates || 0"))


def updated(browser, times=1):
    """Waits until the page has shown what is there from now on."""
    before = updates(browser)
    browser.wait_for(lambda: updates(browser) >= before + times)


def log_in(browser, token):
    browser.run("document.getElementById('token').focus()")
    browser.type(token + ENTER)
    browser.wait_for(lambda: browser.run(
        "return document.getElementById('login').hidden"
        " || !document.getElementById('refused').hidden"))
    updated(browser)


def section(browser, name):
    return browser.text("[data-instance=%s]" % name)


def test_without_a_token(page):
    """Figures that need no token are there, and a place to log in."""
    text = page.text()
    assert "in service" in text
    assert re.search(r"0 of 1\s+switches connected", text)
    assert "Token, to see reservations and workers" in text
    assert re.search("fixed\\s+configured", section(page, "fixed"))
    assert re.search("1\\s+384", section(page, "fixed"))
    assert "free" in section(page, "first")
    assert page.complaints() == []


def test_by_keyboard(page, evlbd, reserved):
    """Log in, pause and log out with no mouse."""
    reserved.register("node-a", 0.25)
    page.run("document.activeElement.blur()")
    focused = []
    for _ in range(4):
        page.type(TAB)
        focused.append(page.focus())
    assert focused == ["skip", "pause", "token", "Log in"]
    page.run("document.getElementById('token').focus()")
    page.type(evlbd.token + ENTER)
    page.wait_for(lambda: "node-a" in page.text())
    page.run("document.getElementById('logout').focus()")
    page.type(ENTER)
    page.wait_for(lambda: "node-a" not in page.text())
    assert page.focus() == "token"
    assert page.complaints() == []


def test_wrong_token(page):
    log_in(page, "0" * 32)
    assert "the token is not known" in page.text("#refused")
    assert page.run("return sessionStorage.length") == 0


def test_secrets_stay_here(page, evlbd):
    """The token is in the tab's session storage at most: not in the address,
    not in the page, not in what stays."""
    log_in(page, evlbd.token)
    assert evlbd.token not in page.run("return location.href")
    assert evlbd.token not in page.run(
        "return document.documentElement.outerHTML")
    assert page.run("return localStorage.length") == 0
    assert page.run("return document.cookie") == ""
    assert page.run("return document.getElementById('token').value") == ""
    assert page.run("return performance.getEntriesByType('resource')"
                    ".map(e => e.name).join()").count(evlbd.token) == 0
    page.run("document.getElementById('logout').click()")
    assert page.run("return sessionStorage.length") == 0


def test_workers(page, evlbd, reserved):
    """Workers with fill and slots, those that come and those that go."""
    reserved.register("node-a", 0.25)
    reserved.register("node-b", 0.95)
    log_in(page, evlbd.token)
    page.wait_for(lambda: "256" in page.text(".wide"))
    text = page.text(".wide")
    assert "hall-d" in text and "192.0.2.17" in text
    assert re.search(r"node-a\s+127.0.0.9:10000\s+25 %\s+256", text)
    assert re.search(r"node-b\s+127.0.0.9:10001\s+95 %\s+256", text)
    assert page.run("return document.querySelectorAll('i.high').length") == 1
    label = page.run("return document.querySelector('.wide canvas')"
                     ".getAttribute('aria-label')")
    assert label == "512 of 512 slots have a worker"
    worker = reserved.register("node-c", 0.5)
    page.wait_for(lambda: "node-c" in page.text(".wide"))
    evlbd.call("Deregister", {"lbId": reserved.lb,
                              "sessionId": worker["sessionId"]},
               worker["token"])
    page.wait_for(lambda: "node-c" not in page.text(".wide"))
    assert page.complaints() == []


def colours(browser, selector):
    """Returns how many colours the canvas has."""
    return browser.run("""
        const c = document.querySelector(arguments[0]);
        const data = c.getContext("2d").getImageData(0, 0, c.width, c.height);
        return new Set(new Uint32Array(data.data.buffer)).size;""", selector)


def test_charts_are_drawn(page, evlbd, reserved):
    """What is drawn is not empty: slots in the colours of three workers, lines
    over time."""
    for name in "abc":
        reserved.register("node-" + name, 0.3)
    log_in(page, evlbd.token)

    def has_three():
        reserved.sync(int(time.time() * 1e6))
        return re.search(r"node-c.*\s30 %\s+1[67]\d", page.text(".wide"),
                         re.DOTALL)

    page.wait_for(has_three)
    updated(page, 2)
    page.wait_for(lambda: colours(page, ".wide canvas") >= 3)
    fills = ".wide canvas[aria-label='Fill of workers over time']"
    page.wait_for(lambda: colours(page, fills) > 3)


def test_history_from_before(page, evlbd, reserved):
    """What was before the page was opened is there, too: the store has it."""
    reserved.register("node-a", 0.7)
    time.sleep(3)
    opened = page.run("return Date.now()")
    log_in(page, evlbd.token)
    key = "%s/%s" % (reserved.lb, reserved.workers[0]["sessionId"])

    def points():
        return page.run("""
            return (history_.get(arguments[0]) || [])
                .filter(p => p.t < arguments[1] - 1000);""", key, opened)

    page.wait_for(points)
    assert all(p["fill"] == pytest.approx(0.7) for p in points())
    assert points()[-1]["slots"] == 512
    assert page.complaints() == []


def test_epochs(page, evlbd, reserved):
    """The epochs that are connected, on a tick axis."""
    reserved.register("node-a", 0.1)
    log_in(page, evlbd.token)
    page.wait_for(lambda: "node-a" in page.text(".wide"))
    ticks = int(time.time() * 1e6)

    def two_epochs():
        reserved.sync(int(time.time() * 1e6))
        label = page.run("return document.querySelector('.wide svg')"
                         ".getAttribute('aria-label')")
        return re.match(r"Epochs from tick 0, (\d+)", label)

    reserved.sync(ticks)
    reserved.register("node-b", 0.1)
    match = page.wait_for(two_epochs)
    assert int(match.group(1)) >= ticks
    assert page.run(
        "return document.querySelectorAll('.wide svg rect').length") >= 2
    assert "epoch " in page.run(
        "return document.querySelector('.wide svg').textContent")


def test_health(page, evlbd, reserved):
    """What is wrong is said in words."""
    evlbd.call("AddSenders", {"lbId": reserved.lb,
                              "senderAddresses": ["2001:db8::5"]})
    reserved.register("node-a", 0.1)
    log_in(page, evlbd.token)
    page.wait_for(lambda: "mbr_info_miss" in page.text("#health"))
    assert "switch br0" in page.text("#health")
    assert "hall-d" in page.text("#health")


DROPS = """
# TYPE evlb_instance_packets_total counter
evlb_instance_packets_total{instance="a",result="dropped",reason="no_udplb_hdr"} %d
evlb_instance_packets_total{instance="a",result="accepted",reason="lb_rx"} 9
evlb_member_packets_total{instance="a\\"b\\\\n",member="7",result="dropped",reason="mbr_unresolved"} 5
"""


def test_drops(page):
    """Drops by reason and place, as a rate and in all."""
    page.run("""
        document.getElementById("pause").click();
        for (const [time, text] of [[1000, arguments[0]],
                                    [3000, arguments[1]]]) {
            const now = {time, metrics: parseMetrics(text)};
            showDrops(now);
            last = now;
        }""", DROPS % 1000, DROPS % 4000)
    rows = page.text("#drops").split("\n")
    text = " ".join(rows)
    assert re.search(r"no_udplb_hdr\s+a\s+1.5 k\s+4.0 k", text)
    assert re.search(r'mbr_unresolved\s+a"b\\n, member 7\s+0\s+5', text)
    assert "lb_rx" not in text
    page.run("document.getElementById('pause').click()")


def test_policy(page, evlbd):
    """Neither script nor style of others is carried out, nor anything
    fetched from elsewhere."""
    headers = evlbd.get("/").headers
    policy = headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert headers["X-Frame-Options"] == "DENY"
    page.run("""
        const s = document.createElement("script");
        s.textContent = "window.bad = 1";
        document.body.append(s);
        document.body.insertAdjacentHTML("beforeend",
            "<img src=x onerror='window.bad = 2'>");
        fetch("http://127.0.0.2:1/").catch(() => {});""")
    assert page.run("return typeof window.bad") == "undefined"
    assert any("Content Security Policy" in c for c in page.complaints())


def test_names_are_no_markup(page):
    """Whatever a name holds, it is shown as it is."""
    page.run("""
        document.getElementById("pause").click();
        showDrops({time: 1, metrics: parseMetrics(arguments[0])});""",
             'evlb_packets_total{result="dropped",'
             'reason="<b id=bold>x</b>"} 5')
    assert page.run("return document.getElementById('bold')") is None
    assert "<b id=bold>" in page.text("#drops")
    page.run("document.getElementById('pause').click()")


def test_narrow(page, evlbd, reserved):
    """On a telephone nothing is wider than the screen."""
    reserved.register("node-with-a-very-long-name-" + "x" * 30, 0.1)
    log_in(page, evlbd.token)
    page.resize(400, 800)
    page.wait_for(lambda: "node-with" in page.text(".wide"))
    updated(page)
    assert page.run("return document.documentElement.scrollWidth"
                    " <= innerWidth")


def test_pause(page):
    page.run("document.getElementById('pause').click()")
    page.wait_for(lambda: page.text("#pause") == "Go on")
    time.sleep(0.5)
    before = updates(page)
    time.sleep(2.5)
    assert updates(page) == before
    page.run("document.getElementById('pause').click()")
    page.wait_for(lambda: updates(page) > before)


def test_many_workers(page, evlbd, reserved):
    """As many workers as there may be."""
    for i in range(512):
        evlbd.call("Register", {
            "lbId": reserved.lb, "name": "n%d" % i, "ipAddress": "127.0.0.9",
            "udpPort": 20000 + i}, reserved.reply["token"])
    log_in(page, evlbd.token)
    page.wait_for(lambda: page.run(
        "return document.querySelectorAll('.wide tbody tr').length") == 512)
    page.run("document.querySelector('.wide .scroll').scrollTop = 500")
    updated(page, 2)
    assert page.run(
        "return document.querySelector('.wide .scroll').scrollTop") == 500
    assert page.complaints() == []


def test_dark(evlbd, browser):
    """Dark where the system is, light where it is."""
    dark = Browser(dark=True)
    try:
        grounds = []
        for b in (browser, dark):
            b.open("http://127.0.0.1:%d/" % evlbd.port)
            updated(b)
            grounds.append(b.run(
                "return getComputedStyle(document.body).backgroundColor"))
        assert grounds == ["rgb(238, 241, 245)", "rgb(11, 15, 20)"]
    finally:
        dark.close()


def test_evlbd_goes(start, browser):
    """The page says that nobody answers any more, and goes on when somebody
    does."""
    evlbd = start()
    browser.open("http://127.0.0.1:%d/" % evlbd.port)
    updated(browser)
    assert browser.text("#state") == "in service"
    evlbd.end()
    browser.wait_for(lambda: "not reached" in browser.text("#state"))
