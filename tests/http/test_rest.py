# SPDX-License-Identifier: Apache-2.0
"""The control API by REST."""

import json

import pytest
from google.protobuf import json_format

READ_ONLY = {"GetLoadBalancer", "LoadBalancerStatus", "Overview", "Timeseries",
             "Version", "GetChainGraph", "ListChildTokens",
             "ListTokenPermissions"}


def methods(pb):
    service = pb.DESCRIPTOR.services_by_name["LoadBalancer"]
    return {m.name: m for m in service.methods}


@pytest.fixture(name="reserved")
def fixture_reserved(evlbd):
    """A reservation."""
    reply = evlbd.call("ReserveLoadBalancer", {
        "name": "mylb", "senderAddresses": ["192.0.2.17"]})
    yield reply
    evlbd.call("FreeLoadBalancer", {"lbId": reply["lbId"]})


def test_version(evlbd):
    reply = evlbd.call("Version")
    assert set(reply) == {"commit", "build", "compatTag"}
    assert all(reply.values())
    assert evlbd.get("/api/v1/Version", {
        "Authorization": "Bearer " + evlbd.token}).json == reply


def test_life_of_a_reservation(evlbd, reserved, pb):
    """What a workflow does, and that each reply is what protobuf's own JSON
    reads."""
    def call(name, reply_type, request, token=reserved["token"]):
        reply = evlbd.call(name, request, token)
        return json_format.ParseDict(reply, reply_type())

    lb = reserved["lbId"]
    got = call("GetLoadBalancer", pb.ReserveLoadBalancerReply, {"lbId": lb})
    assert got.syncIpv4Address == "127.0.0.1"
    assert got.dataIpv4Address in ("192.0.2.1", "192.0.2.2")
    call("AddSenders", pb.AddSendersReply,
         {"lbId": lb, "senderAddresses": ["192.0.2.18", "2001:db8::5"]})
    worker = call("Register", pb.RegisterReply, {
        "lbId": lb, "name": "my_node", "weight": 0.5,
        "ipAddress": "127.0.0.5", "udpPort": 10000,
        "portRange": "PORT_RANGE_16", "minFactor": 1.0, "maxFactor": 1.0})
    call("SendState", pb.SendStateReply, {
        "lbId": lb, "sessionId": worker.sessionId,
        "timestamp": "2026-12-01T06:00:00Z", "fillPercent": 0.8,
        "controlSignal": 1.0, "isReady": True,
        "totalBytesRecv": "9007199254740993"}, worker.token)
    status = call("LoadBalancerStatus", pb.LoadBalancerStatusReply,
                  {"lbId": lb})
    assert list(status.senderAddresses) == ["192.0.2.17", "192.0.2.18",
                                            "2001:db8::5"]
    assert status.slotResolution == 512
    seen, = status.workers
    assert (seen.name, seen.ipAddress, seen.udpPort) == (
        "my_node", "127.0.0.5", 10000)
    assert seen.portRange == pb.PORT_RANGE_16
    assert seen.fillPercent == pytest.approx(0.8)
    assert seen.totalBytesRecv == 9007199254740993
    overview = call("Overview", pb.OverviewReply, {}, evlbd.token)
    assert overview.loadBalancers[0].name == "mylb"
    call("Deregister", pb.DeregisterReply,
         {"lbId": lb, "sessionId": worker.sessionId})


def test_get(evlbd, reserved):
    """What changes nothing can be asked for by GET, too."""
    headers = {"Authorization": "Bearer " + evlbd.token}
    lb = reserved["lbId"]
    posted = evlbd.call("GetLoadBalancer", {"lbId": lb})
    assert evlbd.get("/api/v1/GetLoadBalancer?lbId=" + lb,
                     headers).json == posted
    listed = evlbd.get("/api/v1/ListTokenPermissions?target.id=0", headers)
    assert listed.status == 200
    assert listed.json["token"]["permissions"] == [
        {"resourceType": "ALL", "resourceId": "", "permission": "UPDATE"}]


@pytest.mark.parametrize("query, words", [
    ("?x=1", "x: there is no such field"),
    ("?lbId=1&lbId=2", "lbId: is given twice"),
    ("?lbId", "the address is not"),
    ("?lbId.x=1", "lbId.x: there is no such field"),
    ("?=1", "the address is not"),
    ("?.=1", ".: there is no such field"),
    ("?lbId=%ff", "lbId: is not UTF-8"),
    ("?" + "&".join("a%d=1" % i for i in range(100)), "there is no such"),
])
def test_bad_query(evlbd, query, words):
    reply = evlbd.get("/api/v1/GetLoadBalancer" + query, {
        "Authorization": "Bearer " + evlbd.token})
    assert reply.status == 400
    assert reply.json["code"] == 3
    assert words in reply.json["message"]


def test_token_in_address(evlbd):
    reply = evlbd.get(
        "/api/v1/ListTokenPermissions?target.token=" + evlbd.token,
        {"Authorization": "Bearer " + evlbd.token})
    assert reply.status == 400
    assert "use POST" in reply.json["message"]
    assert evlbd.token not in reply.text


def test_all_methods(evlbd, pb):
    """Each call is there, and needs a token; none that changes something is
    for GET."""
    assert len(methods(pb)) == 22
    for name in methods(pb):
        reply = evlbd.call(name, {}, token=None, status=401)
        assert reply["code"] == 16
        reply = evlbd.get("/api/v1/" + name)
        assert reply.status == (401 if name in READ_ONLY else 405)
        if name not in READ_ONLY:
            assert reply.headers["Allow"] == "POST"


def test_defaults_are_there(evlbd, reserved, pb):
    """A reply has all fields that the foreign encoder writes."""
    reply = evlbd.call("GetLoadBalancer", {"lbId": reserved["lbId"]})
    message = json_format.ParseDict(reply, pb.ReserveLoadBalancerReply())
    assert reply == json_format.MessageToDict(
        message, including_default_value_fields=True,
        preserving_proto_field_name=True)


@pytest.mark.parametrize("body, words", [
    ("", "the body is no JSON object"),
    ("{", "the body is no JSON object: "),
    ("[]", "must be an object"),
    ('{"lbId": 5}', "lbId: must be a string"),
    ('{"nope": 5}', "nope: there is no such field"),
    ('{"lbId": "1"} x', "the body is no JSON object"),
    (b'{"lbId": "\xff"}', "lbId: is not UTF-8"),
    (b'{"lbId": "1"}\0', "the body is no JSON object"),
    ("[" * 100000, "the body is no JSON object"),
    ('{"lbId": ' * 10000, "the body is no JSON object"),
], ids=range(10))
def test_bad_body(evlbd, body, words):
    reply = evlbd.call("GetLoadBalancer", body, status=400)
    assert reply["code"] == 3
    assert words in reply["message"]


def test_path_of_a_mistake(evlbd):
    reply = evlbd.call("Register", {
        "lbId": "1", "slotDemands": [{"index": 0, "length": 1},
                                     {"index": 0, "length": -1}]}, status=400)
    assert reply["message"].startswith("slotDemands[1].length: ")


@pytest.mark.parametrize("rpc, request_, token, status, code", [
    ("GetLoadBalancer", {"lbId": "99999"}, "", 404, 5),
    ("GetLoadBalancer", {"lbId": "1"}, "0" * 32, 403, 7),
    ("GetLoadBalancer", {"lbId": "1"}, "zz", 400, 3),
    ("ReserveLoadBalancer", {"name": "-"}, "", 400, 3),
    ("ReserveLoadBalancer", {"until": "1970-01-01T00:00:00Z"}, "", 400, 3),
])
def test_status(evlbd, rpc, request_, token, status, code):
    """gRPC's status becomes HTTP's."""
    reply = evlbd.call(rpc, request_, token, status=status)
    assert set(reply) == {"code", "message"}
    assert reply["code"] == code
    assert reply["message"]


def test_all_taken(evlbd):
    """RESOURCE_EXHAUSTED is 429."""
    taken = [evlbd.call("ReserveLoadBalancer", {"name": "a"})["lbId"]
             for _ in range(2)]
    assert evlbd.call("ReserveLoadBalancer", {"name": "a"},
                      status=429)["code"] == 8
    for lb in taken:
        evlbd.call("FreeLoadBalancer", {"lbId": lb})


@pytest.mark.parametrize("path", [
    "/api/v1/Nope", "/api/v1/version", "/api/v1/Version/", "/api/v1/Version/x",
    "/api/v1//Version", "/api/v1/%56ersion", "/api/v1x", "/api", "/nope",
    "/api/v1/../../metrics"])
def test_no_such_path(evlbd, path):
    reply = evlbd.get(path, {"Authorization": "Bearer " + evlbd.token})
    assert reply.status == 404


@pytest.mark.parametrize("content_type, status", [
    (None, 415), ("text/plain", 415), ("application/jsonx", 415),
    ("application/x-www-form-urlencoded", 415), ("multipart/form-data", 415),
    ("application/json; charset=utf-8", 200), ("APPLICATION/JSON", 200)])
def test_content_type(evlbd, content_type, status):
    headers = {"Authorization": "Bearer " + evlbd.token}
    if content_type:
        headers["Content-Type"] = content_type
    reply = evlbd.get("/api/v1/Version", headers, method="POST", body="{}")
    assert reply.status == status


@pytest.mark.parametrize("origin, status", [
    ("http://127.0.0.1:%d", 200), ("http://evil.example", 403), ("null", 403),
    ("http://127.0.0.1", 403), ("http://127.0.0.1:%d.evil.example", 403),
    ("file://127.0.0.1:%d", 403), ("", 403)])
def test_origin(evlbd, origin, status):
    origin = origin % evlbd.port if "%d" in origin else origin
    evlbd.call("Version", status=status, Origin=origin)


def test_cookies_are_no_token(evlbd):
    for cookie in ("authorization=Bearer " + evlbd.token,
                   "token=" + evlbd.token):
        evlbd.call("Version", token=None, status=401, Cookie=cookie)


def test_two_tokens(evlbd):
    """Two headers of a name are none."""
    connection = evlbd.connect()
    connection.putrequest("GET", "/api/v1/Version")
    for _ in range(2):
        connection.putheader("Authorization", "Bearer " + evlbd.token)
    connection.endheaders()
    assert connection.getresponse().status == 401
    connection.close()


def test_same_as_grpc(evlbd, reserved, pb):
    """What gRPC says, in the foreign encoder's JSON, is what REST says."""
    # pylint: disable-next=import-outside-toplevel
    import grpc
    with grpc.insecure_channel("unix:" + evlbd.socket) as channel:
        status = channel.unary_unary(
            "/loadbalancer.LoadBalancer/LoadBalancerStatus",
            pb.LoadBalancerStatusRequest.SerializeToString,
            pb.LoadBalancerStatusReply.FromString)(
                pb.LoadBalancerStatusRequest(lbId=reserved["lbId"]))
    rest = evlbd.call("LoadBalancerStatus", {"lbId": reserved["lbId"]})
    foreign = json.loads(json_format.MessageToJson(
        status, including_default_value_fields=True,
        preserving_proto_field_name=True))
    for both in (rest, foreign):
        both.pop("timestamp")
        both.pop("healthIssues")
    assert rest == foreign


def test_description(evlbd, pb):
    """The index describes each call, and names no type that it lacks."""
    reply = evlbd.get("/api/v1")
    assert reply.status == 200
    api = reply.json
    assert api["openapi"].startswith("3.")
    assert set(api["paths"]) == {"/" + name for name in methods(pb)}
    schemas = api["components"]["schemas"]
    text = json.dumps(api)
    for name in text.split('"#/components/schemas/')[1:]:
        assert name.split('"')[0] in schemas
    for name, method in methods(pb).items():
        content = api["paths"]["/" + name]["post"]["requestBody"]["content"]
        ref = content["application/json"]["schema"]["$ref"].split("/")[-1]
        assert ref == method.input_type.name
        assert set(schemas[ref]["properties"]) == {
            f.name for f in method.input_type.fields}
