import msgspec
import pytest

from ringside.probe import protocol
from tests.support.cases import cases

TRIAL = protocol.TrialRequest(("true",), "/", {}, protocol.Limits(1.5, 2, 3, 4))


def test_a_request_always_has_its_version_and_leaves_out_what_is_at_its_default() -> None:
    assert msgspec.json.decode(TRIAL.encode()) == {
        "version": protocol.VERSION,
        "argv": ["true"],
        "cwd": "/",
        "env": {},
        "limits": {"wall_s": 1.5, "memory_bytes": 2, "output_bytes": 3, "processes": 4},
    }
    load = protocol.LoadRequest(protocol.LoadPlan("http", pacing=protocol.PoissonRate(5, seed=2**63 - 1)))
    assert msgspec.json.decode(load.encode()) == {
        "version": protocol.VERSION,
        "load": {"protocol": "http", "pacing": {"kind": "poisson", "rate_per_s": 5.0, "seed": 2**63 - 1}},
    }


def test_a_request_is_one_line() -> None:
    several = msgspec.structs.replace(TRIAL, argv=("sh", "-c", "a\nb"))
    assert b"\n" not in several.encode()
    assert msgspec.json.decode(several.encode(), type=protocol.TrialRequest) == several


def test_a_large_body_follows_its_request() -> None:
    body = bytes(range(256)) * 8192
    plan = protocol.LoadPlan("http", request=protocol.HttpRequest(body=body.decode("latin-1")))
    line, rest = protocol.LoadRequest(plan).encode().split(b"\n", 1)
    assert rest == body
    assert msgspec.json.decode(line)["load"]["request"] == {"body_bytes": len(body)}
    assert len(protocol.MergeRequest(protocol.Merge(protocol.without_body(plan), 2)).encode()) < 200
    small = msgspec.structs.replace(plan, request=protocol.HttpRequest(body="x\n"))
    assert b"\n" not in protocol.LoadRequest(small).encode()


def test_evidence_of_nothing_is_evidence_and_no_service_is_none() -> None:
    request = msgspec.structs.replace(TRIAL, expect=protocol.Evidence(), service=protocol.Service(1, 2))
    assert msgspec.json.decode(request.encode(), type=protocol.TrialRequest) == request
    assert msgspec.json.decode(request.encode())["expect"] == {}


def test_an_open_loop_is_one_with_a_rate() -> None:
    assert not protocol.LoadPlan("http").is_open_loop
    assert not protocol.LoadPlan("http", pacing=protocol.ClosedLoop()).is_open_loop
    assert protocol.LoadPlan("http", pacing=protocol.ConstantRate(1)).is_open_loop


def test_unknown_keys_of_messages_are_ignored_so_that_later_stores_can_be_read() -> None:
    line = b'{"type":"started","version":1,"t_ns":3,"colour":"red"}'
    assert protocol.trial_message(line) == protocol.engine_message(line) == protocol.Started(1, 3)


@pytest.mark.parametrize("line", cases(__file__, "what_is_no_message_of_a_trial"))
def test_what_is_no_message_of_a_trial_is_a_value_error(line: str) -> None:
    # The characters are bytes.
    with pytest.raises(ValueError, match="."):
        protocol.trial_message(line.encode("latin-1"))


def test_an_outcome_of_a_trial_and_of_a_load_are_different_messages() -> None:
    assert isinstance(protocol.engine_message(b'{"type":"outcome","outcome":"ok"}'), protocol.LoadOutcome)
    with pytest.raises(ValueError, match="phase"):
        protocol.engine_message(b'{"type":"phase","t_ns":1,"name":"x","ns":1}')


def test_a_histogram_without_counts_has_no_latency() -> None:
    some, none = protocol.LatencySummary(count=1, p50_ns=3), protocol.LatencySummary()
    load = protocol.LoadMessage(step="s", name="n", histograms={"some": some, "none": none})
    assert load.latency("some") == some
    assert load.latency("none") is load.latency("missing") is None


def test_both_reference_computations_of_a_trial() -> None:
    """A trial has one of them, both or none."""
    line = b'{"type":"outcome","outcome":"ok","reference_ns":7,"memory_reference_ns":11}'
    both = protocol.trial_message(line)
    assert isinstance(both, protocol.TrialOutcome)
    assert (both.reference_ns, both.memory_reference_ns) == (7, 11)
    one = protocol.trial_message(b'{"type":"outcome","outcome":"ok","reference_ns":7}')
    assert isinstance(one, protocol.TrialOutcome)
    assert (one.reference_ns, one.memory_reference_ns) == (7, None)
    with pytest.raises(ValueError, match="memory_reference_ns"):
        protocol.trial_message(b'{"type":"outcome","outcome":"ok","memory_reference_ns":-1}')
