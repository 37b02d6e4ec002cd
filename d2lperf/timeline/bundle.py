"""The modules of the view as one, because a widget and a page that stands alone have room for one."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", re.MULTILINE)
_NAME = re.compile(r"^(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


@cache
def bundle(entry: str = "main.js", *, end: str = "export default { render };\n") -> str:
    """Return a module with everything that it imports, as one module.

    Args:
        entry: file in the folder `js`.
        end: what to put at the end; by default what anywidget asks for.

    Raises:
        ValueError: two modules declare the same name, or import and export in a way that cannot be joined.
    """
    parts: dict[str, str] = {}
    _collect(entry, parts)
    owner: dict[str, str] = {}
    for module, text in parts.items():
        if left := re.search(r"^(?:import|export)\b.*", text, re.MULTILINE):
            raise ValueError(f"{module}: cannot join {left[0]!r}; use `import {{a}} from './b.js'`")
        for name in _NAME.findall(text):
            if owner.setdefault(name, module) != module:
                raise ValueError(f"{module} and {owner[name]} both declare {name!r}: rename one")
    return "\n".join(parts.values()) + end


@cache
def css() -> str:
    """Return the style sheet of the view."""
    return files("d2lperf.timeline").joinpath("timeline.css").read_text("utf-8")


def _collect(module: str, parts: dict[str, str]) -> None:
    text = _read(module)
    for needed in _IMPORT.findall(text):
        if needed not in parts:
            _collect(needed, parts)
    parts[module] = _EXPORT.sub("", _IMPORT.sub("", text))


def _read(module: str) -> str:
    return files("d2lperf.timeline").joinpath("js", module).read_text("utf-8")
