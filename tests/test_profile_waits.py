"""What a wait was for, as far as a profile tells."""

from __future__ import annotations

from profiles.text import E, parsed

from d2lperf.recording.reading import timeline_from
from d2lperf.timeline import Timeline


def operation(name: str, run_id: int, start: int, duration: int, *, device: int = 0) -> E:
    stats = {"hlo_module": f"jit_{name}", "run_id": run_id, "device_ordinal": device}
    return E("dot", start, duration, {"hlo_op": "dot", **stats})


def profile(*python: E, **pools: list[E]) -> Timeline:
    lines = [(f"tf_XLAPjRtCpuClient/{i}", events) for i, events in enumerate(pools.values())]
    return timeline_from(parsed({"/host:CPU": [("python", python), *lines]}))


WAIT = E("d2lperf.block_until_ready", 20, 80)


def test_a_wait_is_for_what_ended_just_before_it_did():
    timeline = profile(
        E("PjitFunction(f)", 0, 10), E("PjitFunction(g)", 10, 10), WAIT,
        first=[operation("f", 1, 15, 35)],
        second=[operation("g", 2, 25, 70, device=1)],
    )  # fmt: skip
    assert [wait.flow for wait in timeline.select(category="wait")] == [1]


def test_a_wait_is_not_for_a_known_run_if_an_unknown_one_ended_after_it():
    # Which of the two calls of g went to which device, nobody knows.
    timeline = profile(
        E("PjitFunction(f)", 0, 5), E("PjitFunction(g)", 5, 5), E("PjitFunction(g)", 10, 5), WAIT,
        first=[operation("f", 1, 15, 35), operation("g", 2, 50, 45)],
        second=[operation("g", 3, 25, 15, device=1)],
    )  # fmt: skip
    (wait,) = timeline.select(category="wait")
    assert [run.flow for run in timeline.select(category="run", name="g")] == [-1, -1]
    assert wait.flow == -1
    assert "does not tell for what" in timeline.why_idle("Python", 60e-9)
