# SPDX-License-Identifier: Apache-2.0

"""What a client library that is in use at experiments takes as an EJFAT_URI.
It is stricter than ours in some things, and laxer in others."""

import dataclasses
import ipaddress
import re
import urllib.parse

DATA_PORT = 19522
KEYS = {"sync", "data", "sessionid"}


@dataclasses.dataclass
class Uri:
    """What it makes of one."""
    tls: bool
    token: str
    host: str
    port: int
    lb_id: str
    session_id: str = ""
    sync: tuple = None
    data: dict = dataclasses.field(default_factory=dict)


def parse_port(text):
    """Parses the number that 'text' begins with."""
    match = re.match(r"\d+", text)
    if not match or not 1024 <= int(match.group()) <= 65535:
        raise ValueError("port %r" % text)
    return int(match.group())


def parse_endpoint(text, default=None):
    """Parses ADDRESS:PORT, where IPv6 stands in brackets."""
    match = re.fullmatch(r"(?:\[([^]]+)\]|([^:\[\]]+))(?::(.+))?", text)
    if not match:
        raise ValueError("address %r" % text)
    address = ipaddress.ip_address(match.group(1) or match.group(2))
    if match.group(3) is None and default:
        return address, default
    return address, parse_port(match.group(3) or "")


def parse_query(uri, query):
    for part in filter(None, query.split("&")):
        key, _, value = part.partition("=")
        if key not in KEYS:
            raise ValueError("key %r" % key)
        if key == "sync":
            uri.sync = parse_endpoint(value)
        elif key == "data":
            address, port = parse_endpoint(value, DATA_PORT)
            uri.data[address.version] = (address, port)
        else:
            uri.session_id = value


def parse(text):
    """Parses an EJFAT_URI, or raises ValueError."""
    match = re.fullmatch(
        r"(ejfats?)://(?:([^@/?]*)@)?(\[[^]]+\]|[^:/?\[\]]+)(?::([^/?]+))?"
        r"/lb/([^?]*)(?:\?(.*))?", text)
    if not match:
        raise ValueError("form %r" % text)
    scheme, token, host, port, path, query = match.groups()
    uri = Uri(tls=scheme == "ejfats",
              token=urllib.parse.unquote(token or ""), host=host.strip("[]"),
              port=parse_port(port or ""), lb_id=path.rpartition("/")[2])
    parse_query(uri, query or "")
    return uri
