"""dask.distributed with several worker processes, one of which dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_rows import assert_scores, chunks, rows

from driftsieve.distributed.dask import screen

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    patient = {"distributed.comm.timeouts.connect": "120s"}  # the machine may be busy
    with (
        dask.config.set(patient),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_several_processes_give_the_result_of_one_bank(client: Any) -> None:
    data = rows(0)
    X = da.from_array(data.X, chunks=(chunks(0, 400), (5, 3)))
    assert len({*client.run(os.getpid).values(), os.getpid()}) == 4
    assert_scores(screen(X, data.y, score_func="fisher", block_size=2), data, "fisher")
    fade = {"half_life": 60.0, "epsilon": 0.001}
    assert_scores(screen(X, data.y, score_func="t", **fade), data, "t", **fade)


def kill_first(block: Any, block_info: Any, flag: str) -> Any:
    """The worker that gets the third chunk first is killed, with all its results."""
    if block_info[0]["chunk-location"][0] == 3 and not Path(flag).exists():
        Path(flag).touch()
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.filterwarnings("ignore")  # dask warns about the loss, which is what we test
def test_a_killed_worker_changes_nothing(client: Any, tmp_path: Path) -> None:
    data = rows(1)
    flag = tmp_path / "killed"
    X = da.from_array(data.X, chunks=(40, 8)).map_blocks(kill_first, flag=str(flag), dtype=float)
    before = set(client.run(os.getpid).values())
    found = screen(X, data.y, score_func="chi2", half_life=60.0, epsilon=0.001)
    assert flag.exists()
    client.wait_for_workers(3)
    assert set(client.run(os.getpid).values()) != before
    assert_scores(found, data, "chi2", half_life=60.0, epsilon=0.001)


@pytest.mark.usefixtures("client")
def test_bad_input_on_a_worker_gives_the_message_of_the_core() -> None:
    data = rows(2)
    X = data.X.copy()
    X[123, 1] = np.inf
    with pytest.raises(ValueError, match="In chunk 1: Input X contains infinity: inf at row 23"):
        screen(da.from_array(X, chunks=(100, 8)), data.y)
