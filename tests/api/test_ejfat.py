# SPDX-License-Identifier: Apache-2.0

"""The client library's parser, which other tests hold our URIs against, is
strict where that library is."""

import ipaddress

import pytest

import ejfat


def test_whole():
    uri = ejfat.parse("ejfats://0123@cp.example:19523/lb/7"
                      "?sync=192.0.2.1:19531&sync=[2001:db8::1]:19532"
                      "&data=192.0.2.2:16384-32767&data=[2001:db8::2]")
    assert uri == ejfat.Uri(
        tls=True, token="0123", host="cp.example", port=19523, lb_id="7",
        sync=(ipaddress.ip_address("2001:db8::1"), 19532),
        data={4: (ipaddress.ip_address("192.0.2.2"), 16384),
              6: (ipaddress.ip_address("2001:db8::2"), 19522)})


def test_short():
    uri = ejfat.parse("ejfat://[::1]:1024/lb/")
    assert (uri.tls, uri.token, uri.host, uri.port) == (False, "", "::1", 1024)
    assert (uri.lb_id, uri.sync, uri.data) == ("", None, {})


@pytest.mark.parametrize("text", [
    "http://t@h:19523/lb/1", "ejfat://t@h/lb/1", "ejfat://t@h:80/lb/1",
    "ejfat://t@h:65536/lb/1", "ejfat://t@h:x/lb/1", "ejfat://t@h:19523",
    "ejfat://t@h:19523/lb/1?other=1", "ejfat://t@h:19523/lb/1?sync=1.2.3.4",
    "ejfat://t@h:19523/lb/1?sync=1.2.3.4:80",
    "ejfat://t@h:19523/lb/1?sync=host:19531",
    "ejfat://t@h:19523/lb/1?data=2001:db8::1:19522",
    "ejfat://t@h:19523/lb/1?data=1.2.3.4:99999"])
def test_refused(text):
    with pytest.raises(ValueError):
        ejfat.parse(text)
