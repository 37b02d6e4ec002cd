"""What a Python thread did: dispatches, compilation, waits, copies and the reader's own annotations."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from d2lperf.recording.bars import BLOCK, END, FETCHES, WAITS, Bar, Issue
from d2lperf.recording.profile import Span

BLOCKED_NS = 20_000
"""A shorter pause inside a dispatch is none worth naming."""

_DISPATCH = re.compile(r"PjitFunction\((.*)\)$", re.DOTALL)
_ROLES = (
    ("dispatch", _DISPATCH),
    ("dispatch", re.compile(r"ExecuteReplicated\.__call__$")),
    ("lower", re.compile(r"lower_sharding_computation$")),
    ("compile", re.compile(r"backend_compile|.*(Client|Compiler)::Compile")),
    ("await", re.compile(r"\w+::Await$")),
    ("wait", re.compile(r".*(BlockHostUntil|block_until_ready|StreamSynchronize|CtxSynchronize"
                        r"|DeviceSynchronize|EventSynchronize)")),
    ("queue", re.compile(r"ComputeSemaphoreAcquire$")),
    ("copy", re.compile(r"(?P<device_put>DevicePut|device_put|batched_copy_array|CopyToMemorySpace)"
                        r"|.*copy_to_host_async")),
    ("prepared", re.compile(r".*::ExecutePrepare$")),
    ("inner", re.compile(
        r"\$|$|.*::|(Parse|shard_|cpp_pjit|PJRT_|Wait for |Handle |Record|Memory(Alloc|Dealloc)|end: )"
        r"|ThenExecuteCallback|MakeOutputBuffers")),
)  # fmt: skip


@lru_cache(4096)
def role_of(name: str) -> str:
    """Return what an event on a Python thread stands for; `note` if the reader may have written it."""
    if name in WAITS:
        return "wait"
    if name in FETCHES:
        return "fetch"
    if name in (BLOCK, END):
        return "frame"
    return next((role for role, pattern in _ROLES if pattern.match(name)), "note")


class _Open(NamedTuple):
    """An event whose end has not been reached yet."""

    end: int
    role: str
    step: int
    issue: Issue | None
    bar: Bar | None


@dataclass
class Thread:
    """What was found on one Python thread.

    Attributes:
        details: keep what happens inside of dispatches.
        number: which Python thread it is, from 1.
        lane: name of its lane.
        bars: what to draw.
        issues: what it gave away, in order.
        block: start and end of the recorded block, if this thread recorded.
    """

    details: bool = False
    number: int = 1
    lane: str = ""
    bars: list[Bar] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    block: tuple[int, int] | None = None


def read_thread(spans: list[Span], *, details: bool = False) -> Thread:
    """Read the events of one Python thread.

    Args:
        spans: ordered by start, longer ones first.
        details: keep what happens inside of dispatches, as category `runtime`.
    """
    return _Reader(Thread(details)).read(spans)


class _Reader:
    """Walks over the nested events of a thread, keeping those that are open."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.open: list[_Open] = []
        self.awaits: dict[int, Span] = {}
        self.repeats: Counter[str] = Counter()
        self.prepared = 0

    def read(self, spans: list[Span]) -> Thread:
        for span in spans:
            while self.open and self.open[-1].end <= span.start:
                self.open.pop()
            self._note_links(span)
            if not self._inside("frame-end", "wait_all"):
                getattr(self, "_" + self._role(span))(span)
        return self.thread

    def _role(self, span: Span) -> str:
        stats = span.stats
        if "step_num" in stats or "d2lperf_step" in stats:
            return "annotated_step"
        if "hlo_op" in stats and "run_id" in stats:
            return "run"
        role = role_of(span.name)
        # Calls of the driver have names of all kinds.
        return "inner" if role == "note" and "correlation_id" in stats else role

    def _inside(self, *roles: str) -> bool:
        return any(opened.role in roles for opened in self.open)

    @property
    def _issue(self) -> Issue | None:
        return next((o.issue for o in reversed(self.open) if o.issue), None)

    @property
    def _step(self) -> int:
        return self.open[-1].step if self.open else -1

    def _note_links(self, span: Span) -> None:
        issue, stats = self._issue, span.stats
        if issue is None:
            return
        if self.prepared and span.start >= self.prepared:
            if span.start - self.prepared > BLOCKED_NS:
                issue.blocked = (self.prepared, span.start)
            self.prepared = 0
        if not stats or self._inside("compile", "lower"):
            return
        if "_p" in stats and span.name == "ThreadpoolListener::Record":
            issue.records.append(stats["_p"])
        elif "_p" in stats:
            issue.producers.append((stats.get("_pt", 0), stats["_p"]))
        if "run_id" in stats:
            issue.run_ids.append(stats["run_id"])
        if "correlation_id" in stats:
            issue.correlations.append(stats["correlation_id"])

    def _draw(self, span: Span, name: str, category: str) -> Bar:
        bar = Bar(span.start, span.end, self.thread.lane, name, category, step=self._step)
        self.thread.bars.append(bar)
        return bar

    def _push(
        self, span: Span, role: str, *, step: int | None = None, issue: Issue | None = None,
        bar: Bar | None = None,
    ) -> None:  # fmt: skip
        self.open.append(_Open(span.end, role, self._step if step is None else step, issue, bar))

    def _give(self, span: Span, name: str, category: str) -> None:
        issue = Issue(self._draw(span, name, category))
        self.thread.issues.append(issue)
        self._push(span, category, issue=issue, bar=issue.bar)

    def _inner(self, span: Span) -> None:
        if self.thread.details and span.end > span.start and not span.name.startswith("$"):
            self._draw(span, span.name, "runtime")

    def _dispatch(self, span: Span) -> None:
        # The profiler writes each call twice, and those inside of a call are being traced, not run.
        if self._inside("dispatch", "compile", "lower"):
            return self._inner(span)
        match = _DISPATCH.match(span.name)
        name = match[1] if match else "execute"
        inner = re.fullmatch(r"jit\((.*)\)", name)
        return self._give(span, inner[1] if inner else name, "dispatch")

    def _lower(self, span: Span) -> None:
        dispatch = next((o.bar for o in self.open if o.role == "dispatch"), None)
        if dispatch and not self._inside("compile", "lower"):
            # No event says so, but what precedes lowering in a call is tracing.
            traced = Span("", dispatch.start, span.start, {})
            self._draw(traced, f"trace {dispatch.name}", "compile")
        self._compiled(span, "lower")

    def _compile(self, span: Span) -> None:
        self._compiled(span, "compile")

    def _compiled(self, span: Span, verb: str) -> None:
        if self._inside("compile", "lower"):
            return self._inner(span)
        dispatch = next((o.bar for o in self.open if o.role == "dispatch"), None)
        self._draw(span, f"{verb} {dispatch.name}" if dispatch else verb, "compile")
        return self._push(span, verb)

    def _wait(self, span: Span) -> None:
        if self._inside("wait", "fetch"):
            self._fetch_waits()
            return self._inner(span)
        name = WAITS.get(span.name) or (
            "block_until_ready" if "block_until_ready" in span.name else "wait"
        )
        bar = self._draw(span, name, "wait")
        return self._push(span, "wait_all" if name == "wait_all" else "wait", bar=bar)

    def _fetch(self, span: Span) -> None:
        if self._inside("wait", "fetch", "dispatch"):
            return self._inner(span)
        # It only waits if the result is not there yet: an await inside tells, or a run that ends.
        bar = self._draw(span, FETCHES[span.name], "copy")
        return self._push(span, "fetch", bar=bar)

    def _await(self, span: Span) -> None:
        stats = span.stats
        if "_p" in stats:
            self.awaits[stats["_p"]] = span
            return self._fetch_waits()
        begun = self.awaits.pop(stats.get("_c", -1), None)
        whole = Span(span.name, begun.start if begun else span.start, span.end, {})
        if self._inside("wait", "fetch", "dispatch"):
            return self._inner(whole)
        self._draw(whole, "wait", "wait")
        return None

    def _fetch_waits(self) -> None:
        fetch = next((o.bar for o in self.open if o.role == "fetch"), None)
        if fetch:
            fetch.category = "wait"

    def _queue(self, span: Span) -> None:
        if span.end - span.start > BLOCKED_NS:
            self._draw(span, "queue full", "wait")

    def _copy(self, span: Span) -> None:
        if self._inside("dispatch", "copy", "wait", "fetch"):
            return self._inner(span)
        host = "copy_to_host_async" in span.name
        return self._give(span, "copy_to_host_async" if host else "device_put", "copy")

    def _prepared(self, span: Span) -> None:
        self.prepared = span.end if self._issue else 0
        self._inner(span)

    def _run(self, span: Span) -> None:
        """Operations that the host computes itself are gathered into runs elsewhere."""

    def _annotated_step(self, span: Span) -> None:
        name, number = self._step_of(span)
        bar = self._draw(span, name, "host")
        bar.step = number
        self._push(span, "note", step=number)

    def _step_of(self, span: Span) -> tuple[str, int]:
        number = span.stats.get("step_num")
        if isinstance(number, int) and 0 <= number < 2**31:
            return f"{span.name} {number}", number
        if self._step >= 0:
            return span.name, self._step
        self.repeats[span.name] += 1
        return span.name, self.repeats[span.name] - 1

    def _frame(self, span: Span) -> None:
        if span.name == BLOCK:
            self.thread.block = (span.start, span.end)
            self.repeats.clear()
            self._push(span, "frame")
        else:
            self._push(span, "frame-end")

    def _note(self, span: Span) -> None:
        if self._inside("dispatch", "compile", "lower", "wait", "fetch", "copy"):
            return self._inner(span)
        self._draw(span, span.name, "host")
        return self._push(span, "note")
