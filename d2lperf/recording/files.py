"""Profiles and traces in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from d2lperf.recording.reading import timeline_from
from d2lperf.timeline.timeline import Timeline

if TYPE_CHECKING:
    from jax.profiler import ProfileData

SUFFIX = ".xplane.pb"
_TRACES = (".json", ".json.gz")


def open_timeline(
    path: str | Path, *, title: str = "", threads: bool = True, details: bool = False
) -> Timeline:
    """Open a profile or a trace as a timeline, on a machine that need not have the hardware.

    Args:
        path: a folder that `jax.profiler.trace` wrote to (its newest profile counts), a file `*.xplane.pb`, or a trace
            in Chrome's format, as `to_perfetto` writes it: `*.json` or `*.json.gz`.
        title: a line above the lanes.
        threads: keep the runtime's threads, folded. Without effect for a trace.
        details: keep what happens inside of dispatches. Without effect for a trace.

    Raises:
        FileNotFoundError: there is no such file, or no profile in the folder.
        ValueError: not a profile, a truncated or an empty one, or a folder with the profiles of several hosts.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        path = find_profile(path)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no file {path}: give a folder of jax.profiler.trace, a {SUFFIX} file or a .json trace"
        )
    if path.name.endswith(_TRACES):
        from d2lperf.timeline.perfetto import read

        return read(path)
    profile = _parse(path)
    try:
        return timeline_from(profile, title=title, threads=threads, details=details)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def find_profile(folder: Path) -> Path:
    """Return the newest profile in a folder that the profiler wrote to.

    Raises:
        FileNotFoundError: there is none.
        ValueError: the newest run holds the profiles of several hosts.
    """
    found = [*folder.rglob("*" + SUFFIX)]
    if not found:
        raise FileNotFoundError(
            f"no profile in the folder {folder}: expected plugins/profile/<run>/*{SUFFIX} in it, "
            "as jax.profiler.trace writes it"
        )
    run = max({path.parent for path in found}, key=lambda run: (_age(run), run.name))
    profiles = sorted(path for path in found if path.parent == run)
    if len(profiles) > 1:
        names = ", ".join(path.name for path in profiles)
        raise ValueError(f"run {run.name} holds a profile of each host: open one of {names}")
    return profiles[0]


def _age(run: Path) -> float:
    return max(path.stat().st_mtime for path in run.glob("*" + SUFFIX))


def _parse(path: Path) -> ProfileData:
    from jax.profiler import ProfileData

    data = path.read_bytes()
    if not data:
        raise ValueError(f"{path.name} is empty: record the profile again")
    try:
        return ProfileData.from_serialized_xspace(data)
    except RuntimeError as error:
        raise ValueError(
            f"{path.name} is no JAX profile, or only a part of one: expected a {SUFFIX} file as "
            "jax.profiler.trace writes it; copy or record it again"
        ) from error
