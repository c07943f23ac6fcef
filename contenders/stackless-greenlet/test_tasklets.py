import pytest

pytest.importorskip("greenlet")

import tasklets
from tasklets import PREFER_NEITHER, PREFER_SENDER, Deadlock, channel, run, schedule, tasklet


@pytest.fixture(autouse=True)
def nothing_left_to_run():
    yield
    tasklets._runnables.clear()


def pair(preference):
    """The log of a sender and of a receiver that waits already, in turn."""
    meeting, log = channel(preference), []

    def receive():
        for _ in range(2):
            log.append(f"received {meeting.receive()}")

    def send():
        for value in range(2):
            meeting.send(value)
            log.append(f"sent {value}")

    tasklet(receive)()
    tasklet(send)()
    run()
    return log


def test_the_receiver_runs_first_unless_told_otherwise():
    assert pair(tasklets.PREFER_RECEIVER) == ["received 0", "sent 0", "received 1", "sent 1"]


@pytest.mark.parametrize("preference", [PREFER_NEITHER, PREFER_SENDER])
def test_the_sender_goes_on_where_the_receiver_is_not_preferred(preference):
    assert pair(preference)[0] == "sent 0"


def test_a_preferred_sender_runs_before_the_receiver_that_let_it_go_on():
    meeting, log = channel(PREFER_SENDER), []

    def send():
        meeting.send("value")
        log.append("sent")

    def receive():
        log.append(meeting.receive())

    tasklet(send)()
    tasklet(receive)()
    run()
    assert log == ["sent", "value"]


def test_balance_counts_who_waits():
    meeting = channel()
    tasklet(meeting.receive)()
    tasklet(meeting.receive)()
    schedule()
    assert meeting.balance == -2
    for value in range(2):
        meeting.send(value)
    assert meeting.balance == 0
    tasklet(meeting.send)("a")
    schedule()
    assert meeting.balance == 1
    assert meeting.receive() == "a"
    assert meeting.balance == 0


def test_waiting_tasklets_are_served_in_turn():
    meeting, log = channel(), []
    for name in "abc":
        tasklet(lambda name=name: log.append((name, meeting.receive())))()
    schedule()
    for value in range(3):
        meeting.send(value)
    assert log == [("a", 0), ("b", 1), ("c", 2)]


def test_schedule_goes_round():
    log = []

    def twice(name):
        for _ in range(2):
            log.append(name)
            schedule()

    tasklet(twice)("a")
    tasklet(twice)("b")
    run()
    assert log == ["a", "b", "a", "b"]


def test_the_last_that_can_run_may_not_wait():
    meeting = channel()
    with pytest.raises(Deadlock):
        meeting.receive()
    with pytest.raises(Deadlock):
        meeting.send(1)
    assert meeting.balance == 0


def test_when_the_others_have_ended_the_main_tasklet_hears_of_the_deadlock():
    meeting = channel()
    tasklet(lambda: None)()
    with pytest.raises(Deadlock):
        meeting.receive()


def test_an_error_is_raised_in_the_main_tasklet():
    def fail():
        schedule()
        raise LookupError("lost")

    tasklet(fail)()
    with pytest.raises(LookupError):
        run()


def test_tasklets_may_start_tasklets():
    log = []

    def nested(depth):
        log.append(depth)
        if depth < 5:
            tasklet(nested)(depth + 1)

    tasklet(nested)(0)
    run()
    assert log == [0, 1, 2, 3, 4, 5]


def test_many_tasklets_wait_at_a_time():
    meeting, log = channel(), []
    count = 20_000
    for _ in range(count):
        tasklet(lambda: log.append(meeting.receive()))()
    schedule()
    assert meeting.balance == -count
    for value in range(count):
        meeting.send(value)
    run()
    assert log == list(range(count))
