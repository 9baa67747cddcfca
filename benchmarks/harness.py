"""Runs tasks in interleaved rounds and compares their medians with goals."""

from __future__ import annotations

import gc
import importlib
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self


@dataclass(frozen=True)
class Cost:
    """Seconds of wall-clock time and of processor time."""

    wall: float
    cpu: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall - other.wall, self.cpu - other.cpu)


class Watch:
    """Adds up the time of its `with` blocks.

    Reading the processor time takes a microsecond, which does not count as wall-clock time.
    """

    def __init__(self) -> None:
        self.spent = Cost(0.0, 0.0)
        self._begin = self.spent

    def __enter__(self) -> Self:
        cpu = time.process_time()
        self._begin = Cost(time.perf_counter(), cpu)
        return self

    def __exit__(self, *_: object) -> None:
        self.spent += Cost(time.perf_counter(), time.process_time()) - self._begin


@dataclass(frozen=True)
class Task:
    """Something to time, and how many values (or features, or bytes) it works on.

    If `run` returns the `Cost` of a part of its work, only that part counts.
    """

    run: Callable[..., Any]
    count: float
    needs: str = ""  # the package without which it cannot run
    threads: int = 1
    prepare: Callable[[], Any] | None = None  # makes the argument of `run`; not timed

    def absent(self) -> str:
        """The reason why it cannot run here; empty if it can."""
        if self.threads > len(os.sched_getaffinity(0)):
            return f"needs {self.threads} cores"
        try:
            if self.needs:
                importlib.import_module(self.needs)  # now, so that it is not timed
        except ModuleNotFoundError as error:
            return f"{error.name} is not installed"
        return ""


@dataclass(frozen=True)
class Goal:
    """At most: ours / peer. At least: peer / ours. Neither: peer / ours, for information.

    The peer is a task, the fastest of several, or the number that ours is not to exceed. A goal
    that memory bandwidth decides is reported, but not asserted.
    """

    ours: str
    peer: str | tuple[str, ...] | float
    at_most: float | None = None
    at_least: float | None = None
    wall: bool = False  # always wall-clock time, because it uses more than one thread
    reported: bool = False


@dataclass(frozen=True)
class Row:
    """One line of the table: *work, ours, peer, ratio, goal, met*."""

    work: str
    ours: float | str | None
    unit: str
    peer: str = ""
    peer_value: float | None = None
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None  # None: there is no goal, or it could not be measured
    note: str = ""
    reported: bool = False  # the goal is not asserted
    low: float | None = None  # the least and the most over the rounds, if the goal is between:
    high: float | None = None  # of the ratio, or of ours where a number is the goal


@dataclass(frozen=True)
class Work:
    """Tasks on the same data, run alternately."""

    name: str
    tasks: Mapping[str, Task]
    goals: tuple[Goal, ...]
    unit: str = "ns/value"
    per_second: float = 1e9
    facts: Callable[[], list[Row]] = field(default=list)  # results other than times
    most_rounds: int = 100  # of tasks that take many seconds each


def interleave(tasks: Mapping[str, Task], rounds: int) -> dict[str, list[Cost]]:
    """Seconds for each of `count`, in each round.

    Every task runs once a round, beginning with another one each time.
    """
    names = list(tasks)
    given = {name: (task.prepare(),) if task.prepare else () for name, task in tasks.items()}
    taken: dict[str, list[Cost]] = {name: [] for name in names}
    for turn in range(rounds):
        shift = turn % max(1, len(names))
        for name in names[shift:] + names[:shift]:
            gc.collect()
            with Watch() as watch:
                result = tasks[name].run(*given[name])
            spent = result if isinstance(result, Cost) else watch.spent
            count = tasks[name].count
            taken[name].append(Cost(spent.wall / count, spent.cpu / count))
            del result  # freeing it is not part of the work
    return taken


def run(work: Work, rounds: int, cpu_time: bool) -> Iterator[Row]:
    """The rows of a work: one for each goal, then the facts."""
    absent = {name: why for name, task in work.tasks.items() if (why := task.absent())}
    present = {name: task for name, task in work.tasks.items() if name not in absent}
    costs = interleave(present, min(rounds, work.most_rounds))
    for goal in work.goals:
        yield _judge(work, goal, costs, absent, cpu_time)
    yield from work.facts()


def _judge(
    work: Work,
    goal: Goal,
    costs: Mapping[str, Sequence[Cost]],
    absent: Mapping[str, str],
    cpu_time: bool,
) -> Row:
    def each(name: str) -> list[float]:
        cpu = cpu_time and not goal.wall
        return [(cost.cpu if cpu else cost.wall) * work.per_second for cost in costs[name]]

    def median(name: str) -> float:
        return statistics.median(each(name))

    row = Row(
        f"{work.name}: {goal.ours}",
        median(goal.ours) if goal.ours in costs else None,
        work.unit,
        goal=_wanted(goal, work.unit),
        reported=goal.reported,
    )
    peers = (goal.peer,) if isinstance(goal.peer, str) else goal.peer
    if isinstance(peers, float):
        if row.ours is None:
            return replace(row, note=absent[goal.ours])
        return replace(row, **_verdict(row.ours, each(goal.ours), at_most=peers))
    there = [peer for peer in peers if peer not in absent]
    if row.ours is None or not there:
        return replace(row, peer=peers[0], note=absent.get(goal.ours) or absent[peers[0]])
    peer = min(there, key=median)
    ratio, ratios = (
        median(peer) / median(goal.ours),
        [theirs / ours for ours, theirs in zip(each(goal.ours), each(peer), strict=True)],
    )
    if goal.at_most is not None:
        ratio, ratios = 1 / ratio, [1 / one for one in ratios]
    judged = _verdict(ratio, ratios, goal.at_most, goal.at_least)
    return replace(row, peer=peer, peer_value=median(peer), ratio=ratio, **judged)


def _verdict(
    found: float,
    each: Sequence[float],
    at_most: float | None = None,
    at_least: float | None = None,
) -> dict[str, Any]:
    """Whether a goal is met, and the range over the rounds if the goal is within it."""
    line = at_least if at_most is None else at_most
    if line is None:
        return {}
    met = found >= line if at_most is None else found <= line
    swings = min(each) < line < max(each)
    return {"met": met} | ({"low": min(each), "high": max(each)} if swings else {})


def _wanted(goal: Goal, unit: str) -> str:
    if isinstance(goal.peer, float):
        return f"≤ {goal.peer:g} {unit}"
    if goal.at_most is not None:
        return f"≤ {goal.at_most:g} ×"
    return "" if goal.at_least is None else f"≥ {goal.at_least:g} ×"
