"""How tests are shared out among workers: all of a file go to one, which makes its fixtures once."""

from unittest.mock import Mock

from tests.conftest import pytest_xdist_make_scheduler


def test_one_worker_gets_all_tests_of_a_file() -> None:
    config = Mock(getvalue=lambda name: ["popen"] * 2)
    scheduler = pytest_xdist_make_scheduler(config, None)
    ids = [f"tests/cli/test_{file}.py::test_some[{number}@x]" for number in range(9) for file in "ab"]
    given: list[list[int]] = [[], []]
    for numbers in given:
        worker = Mock(shutting_down=False, send_runtest_some=numbers.extend)
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, ids)
    scheduler.schedule()
    assert given == [[*range(0, 18, 2)], [*range(1, 18, 2)]]
