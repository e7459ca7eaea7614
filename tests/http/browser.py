# SPDX-License-Identifier: Apache-2.0
"""Chromium without a screen, driven by WebDriver's HTTP protocol."""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

TIMEOUT = 60
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ENTER, TAB = "\ue007", "\ue004"


class Browser:
    """One window."""

    def __init__(self, dark=False):
        self.directory = tempfile.mkdtemp(prefix="evlb-browser-")
        self.log = os.path.join(self.directory, "driver.log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.driver = subprocess.Popen(
                ["chromedriver", "--port=0"], stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.port = self.wait_for(self.find_port)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu",
                     "--disable-dev-shm-usage", "--force-device-scale-factor=1",
                     "--user-data-dir=" + self.directory + "/profile"]
        if dark:
            arguments.append("--force-dark-mode")
            arguments.append("--blink-settings=preferredColorScheme=0")
        self.session = ""
        self.session = self.ask("POST", "/session", {"capabilities": {
            "alwaysMatch": {"goog:chromeOptions": {"args": arguments},
                            "goog:loggingPrefs": {"browser": "ALL"}}}})[
                                "sessionId"]

    def find_port(self):
        with open(self.log, encoding="utf-8") as log:
            match = re.search(r"on port (\d+)\.", log.read())
        return int(match.group(1)) if match else None

    @staticmethod
    def wait_for(condition):
        """Returns what 'condition' returns once that is true."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        raise TimeoutError(condition)

    def ask(self, method, path, body=None):
        """Returns the value of the driver's answer."""
        prefix = "/session/" + self.session if self.session else ""
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=TIMEOUT)
        connection.request(method, prefix + path,
                           json.dumps(body or {}) if method == "POST"
                           else None)
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and value.get("error"):
            raise RuntimeError(value["error"] + ": " + value["message"])
        return value

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def resize(self, width, height):
        self.ask("POST", "/window/rect", {"width": width, "height": height})

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync",
                        {"script": script, "args": list(arguments)})

    def text(self, selector="body"):
        return self.run("const e = document.querySelector(arguments[0]);"
                        "return e ? e.innerText : '';", selector)

    def type(self, keys):
        """Types into what has the focus."""
        element = self.run("return document.activeElement")[ELEMENT]
        self.ask("POST", "/element/%s/value" % element, {"text": keys})

    def focus(self):
        """Returns what has the focus: its id, or its text."""
        return self.run("const e = document.activeElement;"
                        "return e.id || e.getAttribute('aria-label')"
                        "    || e.innerText;")

    def complaints(self):
        """Returns errors of the console since the last time."""
        return [entry["message"]
                for entry in self.ask("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, name):
        with open(name, "wb") as out:
            out.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def close(self):
        try:
            if self.session:
                self.ask("DELETE", "")
        finally:
            os.killpg(self.driver.pid, signal.SIGKILL)
            self.driver.wait()
            shutil.rmtree(self.directory, ignore_errors=True)
