"""What a Pinot controller's answers, silences and refusals become; nothing is ever sent twice that
changes something.
"""

from __future__ import annotations

import ssl

import httpx
import pytest

from segments.errors import OutcomeUnknown, Unavailable
from segments.gateways.pinot import ControllerFault, Credentials, PinotBroker, PinotRefused
from segments.gateways.pinot.circuit import Breaker
from tests.pinot_cluster.fake_rest import FakePinot, controller

TWO = ("http://one:9000", "http://two:9000")
START = "/segments/flights/startReplaceSegments"


def answering(status: int, **more: object):
    return lambda request: httpx.Response(status, **more)  # type: ignore[arg-type]


def failing(error: type[httpx.TransportError], text: str = "gone"):
    def fail(request: httpx.Request) -> httpx.Response:
        raise error(text, request=request)

    return fail


def test_a_read_goes_to_the_next_address_when_one_is_down() -> None:
    pinot = FakePinot(down={"one"})
    gateway = controller(pinot, *TWO)
    assert gateway.get("/version")["pinot-controller"] == "1.2.0"
    assert gateway.url == "http://two:9000"
    assert gateway.version() == "1.2.0"
    assert gateway.cluster() == "PinotCluster"
    assert gateway.circuit().state == "up"


def test_parameters_are_spelt_as_pinot_spells_them() -> None:
    seen: list[str] = []

    def note(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.query.decode())
        return httpx.Response(200, json={})

    pinot = FakePinot(routes={("GET", "/tables"): note})
    controller(pinot).get("/tables", {"force": True, "type": None, "segment": ["a", "b"], "n": 3})
    assert seen == ["force=true&segment=a&segment=b&n=3"]


def test_a_refusal_keeps_status_and_message_of_pinot() -> None:
    pinot = FakePinot(
        routes={("POST", START): answering(500, json={"code": 500, "error": "Segments [a] are not present"})}
    )
    with pytest.raises(PinotRefused) as refused:
        controller(pinot).send("POST", START, body={"segmentsFrom": ["a"]})
    assert (refused.value.pinot_status, refused.value.pinot_message) == (500, "Segments [a] are not present")
    assert refused.value.status == 502
    assert pinot.calls[START] == 1


def test_a_refusal_with_a_4xx_keeps_it() -> None:
    with pytest.raises(PinotRefused) as refused:
        controller(FakePinot()).get("/tables/none")
    assert refused.value.status == refused.value.pinot_status == 404


@pytest.mark.parametrize("error", [httpx.ReadTimeout, httpx.ReadError, httpx.RemoteProtocolError, httpx.WriteError])
def test_a_change_whose_reply_is_lost_is_sent_once_and_its_outcome_unknown(error: type[httpx.TransportError]) -> None:
    pinot = FakePinot(routes={("POST", START): failing(error)})
    with pytest.raises(OutcomeUnknown):
        controller(pinot, *TWO).send("POST", START)
    assert pinot.calls[START] == 1


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_change_that_a_gateway_answers_for_has_an_unknown_outcome(status: int) -> None:
    pinot = FakePinot(routes={("POST", START): answering(status)})
    with pytest.raises(OutcomeUnknown):
        controller(pinot).send("POST", START)
    assert pinot.calls[START] == 1


def test_a_page_instead_of_an_answer_to_a_change_is_an_unknown_outcome() -> None:
    pinot = FakePinot(routes={("POST", START): answering(200, html="<html>log in</html>")})
    with pytest.raises(OutcomeUnknown):
        controller(pinot).send("POST", START)


def test_a_change_goes_to_the_next_address_only_when_it_was_never_sent() -> None:
    pinot = FakePinot(down={"one"}, routes={("POST", START): answering(200, json={"segmentLineageEntryId": "e"})})
    assert controller(pinot, *TWO).send("POST", START) == {"segmentLineageEntryId": "e"}
    pinot.down = {"one", "two"}
    with pytest.raises(ControllerFault) as fault:
        controller(pinot, *TWO).send("POST", START)
    assert isinstance(fault.value, Unavailable)
    assert pinot.calls[START] == 1


def test_an_answer_that_is_text_is_given_as_text() -> None:
    pinot = FakePinot(routes={("POST", START): answering(200, text="Done")})
    assert controller(pinot).send("POST", START) == "Done"
    assert controller(pinot).text("/health") == "OK"


def test_refused_credentials_are_a_state_and_a_new_secret_is_read() -> None:
    pinot = FakePinot(authorization="Basic YW5uOnJpZ2h0")
    secrets = iter(["wrong", "right", "right", "right"])
    gateway = controller(pinot)
    gateway._connection = gateway._connection.__class__(
        "prod", gateway._connection.urls, credentials=lambda: Credentials("basic", "ann", next(secrets))
    )
    with pytest.raises(ControllerFault) as fault:
        gateway.get("/version")
    assert fault.value.state == gateway.circuit().state == "refused"
    assert "wrong" not in str(fault.value)
    gateway._breaker = Breaker("prod")
    assert gateway.version() == "1.2.0"


def test_a_controller_of_another_cluster_is_never_asked_for_more() -> None:
    pinot = FakePinot(cluster="Other", routes={("POST", START): answering(200, json={})})
    gateway = controller(pinot, cluster="PinotCluster")
    for act in (lambda: gateway.send("POST", START), lambda: gateway.get("/version")):
        with pytest.raises(ControllerFault) as fault:
            act()
        assert fault.value.state == "wrong-cluster"
    assert set(pinot.calls) == {"/cluster/info"}


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ({"html": "<html>welcome</html>"}, "unexpected"),
        ({"json": ["surprise"]}, "unexpected"),
        ({"text": "OK"}, "unexpected"),
    ],
)
def test_what_does_not_answer_as_pinot_is_reported_as_such(answer: dict[str, object], state: str) -> None:
    with pytest.raises(ControllerFault) as fault:
        controller(FakePinot(broken=answering(200, **answer))).get("/tables")
    assert fault.value.state == state


def test_a_redirect_is_not_followed_with_our_credentials() -> None:
    pinot = FakePinot(broken=answering(302, headers={"location": "http://elsewhere/login?x=1"}))
    with pytest.raises(ControllerFault, match="http://elsewhere/login'") as fault:
        controller(pinot).get("/tables")
    assert fault.value.state == "unexpected"


def test_a_certificate_that_is_not_trusted_is_reported_as_such() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
        cause.verify_message = "self-signed certificate"
        raise httpx.ConnectError("[SSL]", request=request) from cause

    with pytest.raises(ControllerFault, match="self-signed certificate") as fault:
        controller(FakePinot(broken=refuse)).send("POST", START)
    assert fault.value.state == "untrusted"


def test_a_controller_that_is_down_is_left_alone_and_everybody_learns_since_when() -> None:
    now = [1_700_000_000_000]
    pinot = FakePinot(down={"controller"})
    gateway = controller(pinot)
    gateway._breaker = Breaker("prod", lambda: now[0])
    with pytest.raises(ControllerFault):
        gateway.get("/version")
    asked = pinot.calls.total()
    with pytest.raises(ControllerFault, match="since 2023-11-14 22:13:20 UTC") as told:
        gateway.get("/version")
    assert pinot.calls.total() == asked
    assert told.value.data["since_ms"] == now[0]
    for _ in range(6):
        now[0] += 15_001
        with pytest.raises(ControllerFault):
            gateway.get("/version")
    assert gateway.circuit().since_ms == 1_700_000_000_000
    assert gateway.circuit().retry_at_ms - now[0] <= 15_000
    now[0] += 15_001
    pinot.down = set()
    assert gateway.version() == "1.2.0"
    assert gateway.circuit().state == "up"
    assert gateway.circuit().since_ms == now[0]


def test_one_slow_answer_is_no_outage_three_are() -> None:
    pinot = FakePinot(routes={("GET", "/tables"): failing(httpx.ReadTimeout)})
    gateway = controller(pinot)
    for expected in ("up", "up", "down"):
        gateway.cluster()
        with pytest.raises(ControllerFault):
            gateway.get("/tables")
        assert gateway.circuit().state in (expected, "unknown")
    assert gateway.circuit().state == "down"


def test_a_request_is_passed_through_with_any_status() -> None:
    pinot = FakePinot(routes={("PUT", "/tables/x"): answering(400, json={"code": 400, "error": "no"})})
    with controller(pinot).stream("PUT", "/tables/x", [("a", "1")], b"{}") as reply:
        assert reply.status == 400
        assert b"".join(reply.body) == b'{"code":400,"error":"no"}'
    assert pinot.calls["/tables/x"] == 1


def test_a_passed_through_change_that_loses_its_reply_is_unknown_too() -> None:
    pinot = FakePinot(routes={("PUT", "/tables/x"): failing(httpx.ReadError)})
    with pytest.raises(OutcomeUnknown), controller(pinot).stream("PUT", "/tables/x"):
        pass
    assert pinot.calls["/tables/x"] == 1


def test_a_query_through_an_old_controller_reports_its_error_as_an_exception() -> None:
    text = "ProcessingException(errorCode:450, message:InternalError: no such table)"
    pinot = FakePinot(routes={("POST", "/sql"): answering(200, text=text)})
    assert PinotBroker(controller(pinot)).query("select 1") == {"exceptions": [{"errorCode": 450, "message": text}]}


def test_no_secret_is_printed() -> None:
    credentials = Credentials("basic", "ann", "hunter2")
    assert "hunter2" not in repr(credentials)
