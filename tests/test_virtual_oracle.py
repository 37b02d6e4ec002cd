"""Random programs on random machines against a second simulator: the longest path through a graph."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from d2lperf.virtual import Device, Link, Machine

Edges = list[tuple[int, int]]
"""What has to end before (number of a node), and how many nanoseconds before."""


class Graph:
    """Things that take time, each after others; numbered in the order of issue."""

    def __init__(self) -> None:
        self.lanes: dict[str, list[int]] = {}
        self.ends: list[int] = []
        self.durations: list[int] = []

    def add(self, lane: str, duration: int, after: Edges) -> int:
        """Append a node behind the last one of its lane, and behind others."""
        own = self.lanes.setdefault(lane, [])
        edges = [*after, *((node, 0) for node in own[-1:])]
        start = max((self.ends[node] + lag for node, lag in edges), default=0)
        self.ends.append(start + duration)
        self.durations.append(duration)
        own.append(len(self.ends) - 1)
        return own[-1]

    def latest(self, edges: Edges) -> int:
        return max((self.ends[node] + lag for node, lag in edges), default=0)

    def bars(self, lane: str) -> list[tuple[int, int]]:
        nodes = self.lanes.get(lane, [])
        return [(self.ends[node], self.durations[node]) for node in nodes]


@dataclass
class Value:
    """A value of the program on both sides."""

    handle: Any
    device: str
    nbytes: int
    issued: int
    there: Edges
    known: Edges
    users: Edges = field(default_factory=list)
    fetched: Edges | None = None
    dropped: int | None = None


PER_BYTE = {"a-host": 2, "b-host": 3, "a-b": 1}
LATENCY = {"a-host": 70, "b-host": 0, "a-b": 11}
HALF = {"b-host"}


class Twin:
    """Runs a program on the machine and in the graph; devices a and b have links, c shares the host's memory."""

    def __init__(self, devices: int, depth: int | None, dispatch: int, notify: int) -> None:
        self.names = "abc"[:devices]
        self.depth, self.dispatch, self.notify = depth, dispatch, notify
        links = [
            Link(
                name,
                tuple(name.split("-")),
                1e9 / cost,
                LATENCY[name] * 1e-9,
                "half" if name in HALF else "full",
            )
            for name, cost in PER_BYTE.items()
            if {*name.split("-")} <= {*self.names, "host"}
        ]
        self.links = {link.name for link in links}
        self.machine = Machine(
            [Device(name) for name in self.names],
            links=links,
            depth=depth,
            dispatch_s=dispatch * 1e-9,
            notify_s=notify * 1e-9,
        )
        self.graph = Graph()
        self.runs: dict[str, list[int]] = {name: [] for name in self.names}
        self.values: list[Value] = []
        self.finals: Edges = []
        self.held: list[tuple[str, int, int, Edges]] = []
        self.host = self.graph.add("host", 0, [])

    def on_host(self, duration: int, after: Edges = ()) -> int:
        self.host = self.graph.add("host", duration, [*after])
        return self.host

    def hop(self, source: str, target: str, nbytes: int, after: Edges) -> tuple[Edges, Edges]:
        """Return what ends when the bytes have left, and when they are there."""
        name = "-".join(
            sorted({source, target} - {"host"}) + ["host"] * ("host" in (source, target))
        )
        if name not in self.links:
            return after, after
        lane = name if name in HALF else f"{name} to {target}"
        node = self.graph.add(lane, PER_BYTE[name] * nbytes, [*after, (self.host, 0)])
        self.finals.append((node, LATENCY[name] + self.notify))
        return [(node, 0)], [(node, LATENCY[name])]

    def operation(self, where: int, cost: int, size: int, picks: tuple[int, int]) -> None:
        device = self.names[where % len(self.names)]
        here = [v for v in self.values if v.device == device and v.handle is not None]
        inputs = [here[pick % len(here)] for pick in picks if here and pick]
        given = size if picks[0] % 2 else 0
        function = self.machine.op(lambda *args: np.zeros(size, np.uint8), cost_s=cost * 1e-9)
        arrays = [np.zeros(given, np.uint8)] if given else []
        handle = function(*(v.handle for v in inputs), *arrays, device=Device(device))

        before = self.runs[device]
        full = self.depth is not None and len(before) >= self.depth
        room = [(before[-self.depth], self.notify)] if full else []
        issued = self.on_host(self.dispatch, room)
        needs = [(issued, 0), *(edge for v in inputs for edge in v.there)]
        if given:
            needs += self.hop("host", device, given, [(issued, 0)])[1]
        run = self.graph.add(device, cost, needs)
        before.append(run)
        self.finals.append((run, self.notify))
        for v in inputs:
            v.users.append((run, 0))
        self.held.append((device, given, issued, [(run, 0)]))
        there, known = [(run, 0)], [(run, self.notify)]
        self.values.append(Value(handle, device, size, issued, there, known))

    def put(self, pick: int, where: int, size: int, over_host: bool) -> None:
        device = self.names[where % len(self.names)]
        alive = [v for v in self.values if v.handle is not None]
        value = alive[pick % len(alive)] if alive and pick else None
        source = value.device if value else "host"
        if source == device or (source != "host" and not {"a", "b"} & {source, device}):
            return
        direct = {source, device} == {"a", "b"} and not over_host
        route = [source, *([] if direct or source == "host" else ["host"]), device]
        given = value.handle if value else np.zeros(size, np.uint8)
        via = "host" if over_host and source != "host" else None
        handle = self.machine.device_put(given, Device(device), via=via)

        nbytes = value.nbytes if value else size
        if route == ["host", "c"]:
            now: Edges = [(self.host, 0)]
            self.values.append(Value(handle, device, nbytes, self.host, now, now))
            return
        issued = self.on_host(self.dispatch)
        there = value.there if value else [(issued, 0)]
        for i, (one, other) in enumerate(pairwise(route)):
            left, there = self.hop(one, other, nbytes, [*there, (issued, 0)])
            if value and not i:
                value.users += left
        known = [(node, lag + self.notify) for node, lag in there]
        self.values.append(Value(handle, device, nbytes, issued, there, known))

    def look(self, pick: int, how: int) -> None:
        alive = [v for v in self.values if v.handle is not None]
        if not alive:
            return
        value = alive[pick % len(alive)]
        if how == 0:
            value.handle.block_until_ready()
            self.on_host(0, value.known)
        elif how in (1, 2):
            np.asarray(value.handle) if how == 1 else value.handle.copy_to_host_async()
            known = self.fetch(value)
            if how == 1:
                self.on_host(0, known)
        else:
            value.handle, value.dropped = None, self.host

    def fetch(self, value: Value) -> Edges:
        if value.fetched is None:
            value.fetched = value.known
            if value.device != "c":
                issued = self.on_host(self.dispatch)
                after = [*value.there, (issued, 0)]
                left, there = self.hop(value.device, "host", value.nbytes, after)
                value.users += left
                value.fetched = [(node, lag + self.notify) for node, lag in there]
        return value.fetched

    def held_bytes(self, device: str, time: int) -> int:
        """Return the bytes held on a device, by looking at each value's life."""
        ends, latest = self.graph.ends, self.graph.latest
        lives = [(n, issued, latest(until)) for d, n, issued, until in self.held if d == device]
        for v in self.values:
            if v.device == device:
                kept = [] if v.dropped is None else [(v.dropped, 0)]
                until = latest([*v.there, *v.users, *kept]) if kept else 2**60
                lives.append((v.nbytes, v.issued, until))
        return sum(n for n, issued, until in lives if ends[issued] <= time < until)


numbers = st.integers(0, 5)
instructions = st.one_of(
    st.tuples(
        st.just("operation"),
        numbers,
        st.integers(0, 400),
        st.integers(1, 90),
        st.tuples(numbers, numbers),
    ),
    st.tuples(st.just("put"), numbers, numbers, st.integers(1, 90), st.booleans()),
    st.tuples(st.just("look"), numbers, st.integers(0, 3)),
    st.tuples(st.just("work"), st.integers(0, 300)),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(instructions, max_size=40),
    st.integers(1, 3),
    st.one_of(st.none(), st.integers(1, 3)),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_random_programs_take_what_the_longest_path_takes(
    program, devices, depth, dispatch, notify
):
    twin = Twin(devices, depth, dispatch, notify)
    machine = twin.machine
    for name, *arguments in program:
        if name == "work":
            machine.host_work(arguments[0] * 1e-9)
            twin.on_host(arguments[0])
        else:
            getattr(twin, name)(*arguments)
    machine.wait_all()
    twin.on_host(0, twin.finals)

    assert machine.now_ns == twin.graph.ends[twin.host]
    for lane in machine.log.lanes[1:]:
        bars = [(e.end_ns, e.duration_ns) for e in machine.log.select(lane=lane)]
        assert bars == twin.graph.bars(lane), lane
    check_memory(twin)
    check_invariants(machine)


def check_memory(twin: Twin) -> None:
    """Compare bytes at every moment at which they change on either side, then let everything go."""
    for device in twin.machine.devices:
        times, held = twin.machine.memory_steps(device)
        moments = {0, *times, *twin.graph.ends, *(end - 1 for end in twin.graph.ends)}
        for moment in moments:
            at = np.searchsorted(times, moment, side="right") - 1
            assert (held[at] if at >= 0 else 0) == twin.held_bytes(device.name, moment)
        # What is taken and given back at one moment counts for the peak and is not in the steps.
        assert max(held, default=0) <= twin.machine.peak_bytes(device)
    for value in twin.values:
        value.handle = None
    gc.collect(0)
    for device in twin.machine.devices:
        assert [*twin.machine.memory_steps(device)[1]][-1:] in ([], [0])


def check_invariants(machine: Machine) -> None:
    """In no lane two things happen at once, and nothing is before what it needs."""
    timeline = machine.timeline(memory=True)
    for lane in timeline.lane_names:
        lasting = [e for e in timeline.select(lane=lane) if e.duration_ns]
        assert all(one.end_ns <= other.start_ns for one, other in pairwise(lasting))
    dispatched = {e.flow: e.end_ns for e in timeline.select(category="dispatch")}
    finished: dict[int, int] = {}
    for event in timeline:
        if event.category in ("run", "copy"):
            assert event.start_ns >= dispatched[event.flow]
            finished[event.flow] = max(finished.get(event.flow, 0), event.end_ns)
    started = {e.flow: e.start_ns for e in reversed(timeline.select(category="copy"))}
    started |= {e.flow: e.start_ns for e in timeline.select(category="run")}
    for earlier, later in machine.log.needs:
        assert finished[earlier] <= started[later]


def test_the_same_program_gives_the_same_log_twice():
    logs = []
    for _ in range(2):
        twin = Twin(3, 2, 7, 3)
        for i in range(30):
            twin.operation(i, 50 + i, 10 + i, (i % 4, i % 3))
            twin.put(i, i + 1, 40, bool(i % 2))
            twin.look(i, i % 4)
        logs.append(([*twin.machine.log], twin.machine.log.needs))
    assert logs[0] == logs[1] and len(logs[0][0]) > 90
