"""The driver of the probe, with probes that fail, hang and talk nonsense."""

import os
import re
import signal
import time
from pathlib import Path

import msgspec
import pytest

from ringside.errors import ProbeError
from ringside.probe import kernel, process, protocol
from ringside.probe.process import PLAIN, TRIALS, WHOLE, Probe, find_probe, program_for
from tests.support import probes
from tests.support.errors import error_of
from tests.support.fake_contenders import edit

PHASE = '{"type":"phase","t_ns":1,"name":"relay","ns":7}'
WAITS = "while :; do sleep 0.1; done\n"
HANGS = f"trap '' INT TERM\n{WAITS}"


def sent(messages: list[protocol.TrialMessage]) -> list[protocol.TrialMessage]:
    """The messages as the probe wrote them."""
    *before, last = messages
    return [*before, msgspec.structs.replace(last, driver_cpu_ns=0)]


def test_messages_come_as_types_the_outcome_last(tmp_path: Path) -> None:
    messages = probes.printing(tmp_path, probes.STARTED, PHASE, probes.OUTCOME).trial(probes.TRIAL)
    assert sent(messages) == [
        protocol.Started(version=1),
        protocol.Phase(1, "relay", 7),
        protocol.TrialOutcome("ok"),
    ]


def test_a_last_line_without_its_newline_counts(tmp_path: Path) -> None:
    (tmp_path / "outcome").write_text(probes.OUTCOME)
    messages = Probe(probes.script(tmp_path, "say outcome")).trial(probes.TRIAL)
    assert sent(messages) == [protocol.TrialOutcome("ok")]


def test_what_this_process_uses_during_a_trial_is_known(tmp_path: Path) -> None:
    def busy(_: protocol.TrialMessage) -> None:
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass

    last = probes.printing(tmp_path, probes.STARTED, probes.OUTCOME).trial(probes.TRIAL, on_message=busy)[-1]
    assert isinstance(last, protocol.TrialOutcome)
    assert last.driver_cpu_ns >= 40_000_000


def test_messages_of_a_load_are_handed_on_as_they_come(tmp_path: Path) -> None:
    handed: list[protocol.EngineMessage] = []
    messages = probes.printing(tmp_path, probes.STARTED, probes.OUTCOME).load(probes.LOAD, handed.append)
    assert messages == handed == [protocol.Started(version=1), protocol.LoadOutcome("ok")]


def test_the_request_is_one_line_of_json(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text(f"{probes.OUTCOME}\n")
    Probe(probes.script(tmp_path, "printf '%s' \"$request\" > got; say lines")).trial(probes.TRIAL)
    got = (tmp_path / "got").read_bytes()
    number = msgspec.json.decode(got)["number"]
    assert got == msgspec.structs.replace(probes.TRIAL, number=number).encode()


@pytest.mark.parametrize("outcome", [probes.OUTCOME, probes.OUTCOME.replace("}", ',"number":"a guess"}')])
def test_an_outcome_that_somebody_else_wrote_is_no_outcome(tmp_path: Path, outcome: str) -> None:
    with pytest.raises(ProbeError, match="not the request's"):
        Probe(probes.script(tmp_path, f"echo '{outcome}'")).trial(probes.TRIAL)


def test_two_requests_have_two_numbers(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text(f"{probes.OUTCOME}\n")
    probe = Probe(probes.script(tmp_path, "say lines; read -r request; say lines"))
    assert sent(probe.trial(probes.TRIAL)) == [protocol.TrialOutcome("ok")]
    assert "not the request's" in error_of(ProbeError, probe.trial, probes.TRIAL)


def test_the_channels_of_a_probe_cannot_be_opened_through_proc(tmp_path: Path) -> None:
    """By other programs of the user: of pipes, also the end that is read can be opened for writing."""
    (tmp_path / "lines").write_text(f"{probes.OUTCOME}\n")
    opens = "for file in 0 1 2; do (: > /proc/$$/fd/$file) 2>/dev/null && echo $file >> opened; done"
    Probe(probes.script(tmp_path, f"{opens}\nsay lines")).trial(probes.TRIAL)
    assert not (tmp_path / "opened").exists()


def test_ringside_is_hidden_during_a_trial(tmp_path: Path) -> None:
    """Files of a process that is not dumpable belong to root, and nobody else can trace it."""
    assert kernel.is_visible()
    seen = []
    (tmp_path / "lines").write_text(f"{probes.STARTED}\n{probes.OUTCOME}\n")
    probe = Probe(probes.script(tmp_path, "say lines"))
    probe.trial(probes.TRIAL, on_message=lambda _: seen.append(kernel.is_visible()))
    assert seen == [False, False]
    assert kernel.is_visible()


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["not json"], "invalid message .*: not json"),
        (['{"type":"surprise"}'], "invalid message .*surprise"),
        (['{"type":"phase","t_ns":1,"name":"x","ns":-1}'], r"invalid message .*>= 0"),
        (['{"type":"phase","t_ns":1,"name":"x"}'], "invalid message .*`ns`"),
        (['{"type":"phase","t_ns":1,"name":"x","ns":1.5}'], "invalid message .*`int`"),
        (["[]"], "invalid message"),
        ([""], "invalid message"),
        (["nonsense " * 10_000], "invalid message"),
        ([], "ended without an outcome"),
        ([probes.STARTED, PHASE], "ended without an outcome"),
        ([probes.OUTCOME, PHASE], "sent a message after the outcome"),
        ([probes.OUTCOME, probes.OUTCOME], "sent a message after the outcome"),
    ],
)
def test_garbage_is_an_error_of_one_line(tmp_path: Path, lines: list[str], reason: str) -> None:
    said = error_of(ProbeError, probes.printing(tmp_path, *lines).trial, probes.TRIAL)
    assert re.search(reason, said)
    assert len(said) < 400


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="invalid message"):
        Probe(probes.script(tmp_path, r"printf '\377\376\n'")).trial(probes.TRIAL)


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ("exit 3", "without an outcome: exit status 3"),
        ("echo one >&2; echo two >&2; exit 3", "without an outcome: two"),
        # The kernel's way where memory ran out.
        (
            "kill -9 $$",
            "^the probe was killed .SIGKILL., by another process, or by the kernel because memory ran out",
        ),
        ("exit 137", "^the probe was killed"),
    ],
)
@pytest.mark.parametrize("lines", [[], [probes.STARTED]])
def test_a_probe_that_fails_says_why(tmp_path: Path, lines: list[str], then: str, reason: str) -> None:
    with pytest.raises(ProbeError, match=reason):
        probes.printing(tmp_path, *lines, then=then).trial(probes.TRIAL)


def test_a_probe_that_does_not_read_its_request_is_an_error(tmp_path: Path) -> None:
    path = probes.script(tmp_path, "")
    edit(Path(path), ("&& read -r request", "; exit 1"))
    large = {"X": "x" * 1_000_000}
    request = protocol.TrialRequest(argv=("true",), cwd="/", env=large, limits=probes.TRIAL.limits)
    assert "without an outcome: exit status 1" in error_of(ProbeError, Probe(path).trial, request)


# --- what a probe may leave behind ---


@pytest.mark.parametrize("then", ["kill -9 $$", "echo nonsense; exec sleep 1000", "exit 0"])
def test_a_probe_that_fails_leaves_no_contender(tmp_path: Path, then: str) -> None:
    with pytest.raises(ProbeError):
        Probe(probes.script(tmp_path, probes.STARTS_CONTENDER + then)).trial(probes.TRIAL)
    assert not probes.contender_is_alive(tmp_path)


def test_a_hanging_probe_is_ended_with_its_contender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "INTERRUPT_GRACE_S", 0.2)
    begun = time.monotonic()
    with pytest.raises(ProbeError, match="the probe hung"):
        Probe(probes.script(tmp_path, probes.STARTS_CONTENDER + HANGS), grace_s=0.5).trial(probes.TRIAL)
    assert 0.6 <= time.monotonic() - begun < 30
    assert not probes.contender_is_alive(tmp_path)


def test_a_load_without_an_end_has_no_watchdog(tmp_path: Path) -> None:
    endless = protocol.LoadRequest(protocol.LoadPlan("http", requests=5))
    messages = Probe(probes.script(tmp_path, f"sleep 2.5; echo '{probes.OUTCOME}'"), grace_s=0).load(endless)
    assert messages == [protocol.LoadOutcome("ok")]


def test_a_child_that_keeps_the_output_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "INTERRUPT_GRACE_S", 0.2)
    begun = time.monotonic()
    with pytest.raises(ProbeError, match="invalid message"):
        probes.printing(tmp_path, "nonsense", then="sleep 1000").trial(probes.TRIAL)
    assert time.monotonic() - begun < 30


def test_the_cgroup_of_a_failed_probe_is_killed(tmp_path: Path) -> None:
    cgroup = tmp_path / "cgroup"
    cgroup.mkdir()
    started = f'{{"type":"started","version":1,"cgroup":"{cgroup}"}}'
    with pytest.raises(ProbeError):
        probes.printing(tmp_path, started).trial(probes.TRIAL)
    assert (cgroup / "cgroup.kill").read_text() == "1"


# --- interrupts ---


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_probe_reports_and_nothing_is_lost(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "outcome").write_text(probes.INTERRUPTED)
    then = f"trap 'say outcome; exit 0' INT\n: > ready\n{WAITS}"
    probe = probes.printing(tmp_path, probes.STARTED, PHASE, then=then)
    sender = probes.when((tmp_path / "ready").exists, number)
    messages = probe.trial(probes.TRIAL)
    sender.join()
    assert sent(messages) == [
        protocol.Started(version=1),
        protocol.Phase(1, "relay", 7),
        protocol.TrialOutcome("interrupted"),
    ]
    assert probe.interrupted
    # Afterwards signals do what they did before.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_interrupted_probe_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "INTERRUPT_GRACE_S", 0.3)
    probe = Probe(probes.script(tmp_path, probes.STARTS_CONTENDER + ": > ready\n" + HANGS))
    sender = probes.when((tmp_path / "ready").exists, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        probe.trial(probes.TRIAL)
    sender.join()
    assert not probes.contender_is_alive(tmp_path)


def test_a_second_interrupt_ends_the_probe_at_once(tmp_path: Path) -> None:
    probe = Probe(probes.script(tmp_path, probes.STARTS_CONTENDER + ": > ready\n" + HANGS))
    sender = probes.when((tmp_path / "ready").exists, signal.SIGINT, signal.SIGINT)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        probe.trial(probes.TRIAL)
    assert time.monotonic() - begun < process.INTERRUPT_GRACE_S
    sender.join()
    assert not probes.contender_is_alive(tmp_path)


# --- which probe ---


def test_a_probe_of_another_version_is_refused(tmp_path: Path) -> None:
    fake = tmp_path / "probe"
    fake.write_text("#!/bin/sh\necho ringside-probe 9.9 protocol 99\n")
    fake.chmod(0o755)
    with pytest.raises(ProbeError, match="does not speak protocol 1 .*99.*: run `make setup`"):
        Probe(str(fake))
    assert "cannot be started" in error_of(ProbeError, Probe, str(tmp_path / "none"))


def test_a_probe_that_goes_away_is_an_error(tmp_path: Path) -> None:
    probe = probes.printing(tmp_path, probes.OUTCOME)
    os.unlink(probe.path)
    assert "cannot be started: No such file" in error_of(ProbeError, probe.trial, probes.TRIAL)


def test_where_the_probe_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python, elsewhere = tmp_path / "bin" / "python", tmp_path / "elsewhere"
    monkeypatch.setattr("sys.executable", str(python))
    monkeypatch.setenv("PATH", str(elsewhere))
    monkeypatch.delenv("RINGSIDE_PROBE", raising=False)
    assert "not installed: run `make setup`" in error_of(ProbeError, find_probe)
    for folder in (elsewhere, python.parent):
        folder.mkdir()
        (folder / "ringside-probe").touch(mode=0o755)
        assert find_probe() == find_probe(TRIALS) == str(folder / "ringside-probe")
    monkeypatch.setenv("RINGSIDE_PROBE", "/my/probe")
    assert find_probe() == "/my/probe"


def test_the_smallest_probe_that_can_carries_a_request_out_and_others_are_built_when_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As `scripts/setup --later` leaves them: beside Python only the one for trials without loads."""
    programs, scripts = tmp_path / ".venv" / "bin", tmp_path / "scripts"
    for folder in (programs, scripts):
        folder.mkdir(parents=True)
    (tmp_path / "lines").write_text(f"{probes.STARTED}\n{probes.OUTCOME}\n")
    small = Path(probes.script(tmp_path, "say lines")).rename(programs / "ringside-probe-trial")
    whole = Path(probes.script(tmp_path, "say lines")).rename(tmp_path / "whole")
    (scripts / "probe").write_text(f"#!/bin/sh\ncp '{whole}' '{programs}'/$1\n")
    (scripts / "probe").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(programs / "python"))
    monkeypatch.delenv("RINGSIDE_PROBE", raising=False)
    probe = Probe()
    probe.trial(probes.TRIAL)
    assert probe.path == str(small)
    assert not capfd.readouterr().err
    plain = protocol.LoadPlan("http", expect=protocol.ExpectedReply(matches="x"))
    secure = msgspec.structs.replace(plain, tls=protocol.Tls("localhost"))
    for program, plans in ((PLAIN, (plain,)), (WHOLE, (plain, secure)), (WHOLE, (plain,))):
        step = protocol.Step("all", tuple(protocol.NamedLoad("load", plan) for plan in plans))
        service = protocol.Service(1, 0, steps=(step,))
        for request in (msgspec.structs.replace(probes.TRIAL, service=service), probes.TRIAL):
            probe.trial(request)
            assert probe.path == str(programs / program)
    built = "ringside: building the load engine, once: about"
    assert capfd.readouterr().err == f"{built} 30 s\n{built} 60 s\n"


def test_a_load_of_more_than_http_1_is_for_the_whole_probe() -> None:
    plain, message = protocol.LoadPlan("http"), protocol.StreamMessages(framing="message")
    tls, http2, tunnel = protocol.Tls("localhost"), protocol.Http2(1), protocol.Tunnel("localhost:1")
    for more in ({"tls": tls}, {"http2": http2}, {"tunnel": tunnel}, {"protocol": "ws"}, {"stream": message}):
        assert program_for(plain, msgspec.structs.replace(plain, **more)) == WHOLE
    assert program_for(plain) == PLAIN
