"""Programs that play one tournament by an executor, in a process of their own: clusters leave threads behind.

Run it as `python -m tests.support.executors KIND FOLDER` in a folder with `mine.py`. The tournament is written to
FOLDER, and what happened to the executor is printed as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import league

STRATEGIES = ["./mine.py:Mine", "random", "./mine.py:Other"]
SETTINGS: dict[str, Any] = {"game": "tic_tac_toe", "meetings": 2_500, "openings": 6, "seed": 3}

Disaster = Callable[[], object]
"""Something that happens in the middle of the tournament."""


class Cluster:
    """An executor, and what may happen to it."""

    def __init__(self, executor: Any, disaster: Disaster | None = None, **options: Any) -> None:
        self.executor = executor
        self.disaster = disaster
        self.options = options


@contextmanager
def threads() -> Iterator[Cluster]:
    with ThreadPoolExecutor(3) as executor:
        yield Cluster(executor)


@contextmanager
def processes() -> Iterator[Cluster]:
    made: list[ProcessPoolExecutor] = []

    def make() -> Executor:
        made.append(ProcessPoolExecutor(2))
        return made[-1]

    def kill() -> None:
        os.kill(next(iter(made[0]._processes)), signal.SIGKILL)

    yield Cluster(make, kill)
    assert len(made) == 2, "a new executor was made"


@contextmanager
def dask() -> Iterator[Cluster]:
    import distributed

    library: Any = distributed  # its functions have no types
    with (
        library.LocalCluster(n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        library.Client(cluster) as client,
    ):
        worker = next(iter(client.scheduler_info()["workers"].values()))

        def kill() -> None:
            client.run(os._exit, 1, workers=[worker["id"]], nanny=False, wait=False, on_error="ignore")

        yield Cluster(client.get_executor(), kill)


@contextmanager
def ray() -> Iterator[Cluster]:
    from ray.cluster_utils import Cluster as Nodes

    nodes: Any = Nodes(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"},
    )
    try:
        nodes.add_node(num_cpus=1)
        doomed = nodes.add_node(num_cpus=1)
        yield Cluster("ray", lambda: nodes.remove_node(doomed, allow_graceful=False), address=nodes.address)
    finally:
        nodes.shutdown()


KINDS = {"threads": threads, "processes": processes, "dask": dask, "ray": ray}


def main() -> None:
    kind, folder = sys.argv[1:]
    disasters: list[int] = []
    with KINDS[kind]() as cluster:

        def progress(played: int, matches: int) -> None:
            if cluster.disaster is not None and not disasters and played > matches / 4:
                disasters.append(played)
                cluster.disaster()

        league.tournament(
            STRATEGIES, executor=cluster.executor, to=folder, progress=progress, **cluster.options, **SETTINGS
        )
    print(json.dumps({"disasters": disasters}))


if __name__ == "__main__":
    main()
