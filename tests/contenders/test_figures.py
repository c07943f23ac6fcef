"""Every contender through the real probe: its trials have all figures. The rules that they keep are those of
`ringside check`."""

from collections.abc import Mapping

import pytest

from ringside.measure.host import Executor
from ringside.measure.runs import plan
from ringside.measure.runs.inputs import Inputs
from ringside.model.design import Level
from ringside.model.results import Outcome, Trial
from ringside.workloads import WORKLOADS
from tests.support.cases import tables
from tests.support.programs import carry_out, having, point, ready

Levels = Mapping[str, Level]
# An address of this machine on which none listens by default; upstreams of a gateway are on 127.0.0.1.
OTHER_HOST = "127.0.0.2"
TRIALS = tables(__file__)
SMALL, LARGE = TRIALS["small"], TRIALS["large"]
# Half a gigabyte of input is never in memory at one time.
MOST_BATCH_BYTES = 200e6


@pytest.fixture(scope="module")
def executor() -> Executor:
    return Executor()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return Inputs(tmp_path_factory.mktemp("inputs"))


def made(workload: str, name: str, levels: Levels, executor: Executor, inputs: Inputs) -> Trial:
    at, of = point(workload, **levels), WORKLOADS[workload]
    file = of.input(at)
    host = OTHER_HOST if of.is_service else None
    trial = carry_out(workload, ready(name), executor, at, inputs.get(file) if file else None, host=host)
    assert trial.outcome is Outcome.OK, f"{name} {at}: {trial.detail} {trial.report}"
    assert trial.report.left_behind == 0
    assert not any(load.errors for load in trial.loads)
    return trial


@pytest.mark.parametrize(("workload", "name"), [(each, name) for each in SMALL for name in having(each)])
def test_a_small_trial_has_all_figures(workload: str, name: str, executor: Executor, inputs: Inputs) -> None:
    levels, figures = SMALL[workload]["levels"], set(SMALL[workload]["figures"])
    try:
        trial = made(workload, name, levels, executor, inputs)
    except AssertionError:
        # A host may stall for longer than a server's grace, or the second before the first instant.
        trial = made(workload, name, levels, executor, inputs)
    assert figures <= set(WORKLOADS[workload].figures(trial))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("workload", "name", "levels"),
    [(each, name, levels) for each in LARGE for name in having(each) for levels in LARGE[each]],
)
def test_large_trials(workload: str, name: str, levels: Levels, executor: Executor, inputs: Inputs) -> None:
    if reason := plan.past_limit(ready(name).contender, WORKLOADS[workload], point(workload, **levels)):
        pytest.skip(reason)
    trial = made(workload, name, levels, executor, inputs)
    if workload == "batch":
        assert WORKLOADS[workload].figures(trial)["peak_pss_bytes"] < MOST_BATCH_BYTES


def test_every_workload_has_a_trial() -> None:
    assert set(SMALL) == set(WORKLOADS)
