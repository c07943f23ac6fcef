"""A cluster whose head dies in the middle of a run, and the run that goes on with another cluster."""

import os
import subprocess

import pytest

from tests.support.command_line import RINGSIDE, ringside
from tests.support.fake_contenders import Add
from tests.support.processes import is_over
from tests.support.ray_cluster import RayCluster, started
from tests.support.stored_trials import assert_whole, identities, trials_so_far

PATIENCE_S = 300
BLOCKS = 40
NAMES = ("one", "two")


def add_node(cluster: RayCluster) -> None:
    cluster.add("alpha", env={"XDG_CACHE_HOME": str(cluster.folder / "alpha")})


@pytest.mark.integration
def test_a_head_that_dies_is_one_line_and_the_run_goes_on_elsewhere(
    add_fake: Add, add_experiment: Add
) -> None:
    for name in NAMES:
        add_fake(name, "dawdles")
    add_experiment("mine", *NAMES, blocks=BLOCKS)
    with started() as cluster:
        add_node(cluster)
        command = [*RINGSIDE, "run", "mine", "--until", "end", "--on", "auto"]
        environment = {**os.environ, "RAY_ADDRESS": cluster.own}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                assert is_over(lambda: len(trials_so_far()) > 3 or process.poll() is not None, PATIENCE_S)
                assert process.poll() is None, process.communicate()
                cluster.kill(cluster.cluster.head_node)
                shown, said = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
        assert process.returncode == 2, said
        assert "Traceback" not in said
        assert "raylet" not in shown
        last = said.strip().splitlines()[-1]
        assert "ringside: " in last
        assert "`ringside run --resume " in last
        assert "--on " in last
    before = trials_so_far()
    with started(with_clients=True) as another:
        add_node(another)
        ringside(*last.partition("`ringside ")[2].partition("`")[0].split()[:3], "--on", another.address)
    after = trials_so_far()
    assert_whole(after, BLOCKS)
    assert identities(before) <= identities(after)
