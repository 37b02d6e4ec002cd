"""A timeline as one HTML file that works offline."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from typing import TYPE_CHECKING, Any

from d2lperf.timeline.bundle import bundle, css
from d2lperf.timeline.packing import pack

if TYPE_CHECKING:
    from d2lperf.timeline.timeline import Timeline

_STYLE = """
html { color-scheme: light dark; }
body { max-width: 1400px; margin: 0 auto; padding: 16px 24px; font: 14px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 8px; font-size: 20px; }
#timeline .title { font-size: 20px; }
@media (scripting: enabled) {
  h1 { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
}
details { margin-top: 16px; }
summary { cursor: pointer; font-weight: 600; }
#lanes { overflow-x: auto; }
#lanes table { margin-top: 8px; border-collapse: collapse; font-variant-numeric: tabular-nums; }
#lanes caption { text-align: left; }
#lanes th, #lanes td { padding: 3px 12px 3px 0; text-align: right; font-weight: 400; }
#lanes thead th { font-weight: 600; }
noscript img { max-width: 100%; }
@media (prefers-color-scheme: dark) { body { background: #17191b; color: #eceef0; } }
"""


def page(timeline: Timeline) -> str:
    """Return one HTML page with the live view, and with picture and table for readers without scripts.

    The page loads nothing from anywhere, and its security policy lets it load nothing.

    Args:
        timeline: what to show.
    """
    script = bundle("page.js", end="boot(document);\n").replace("</script", r"<\/script")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(timeline.title or "Timeline")
    picture = timeline.picture()
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}{css()}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<div id="timeline"></div>
<noscript>{picture.as_img()}<p>{html.escape(picture.caption)}</p></noscript>
<details id="lanes"><summary>Lanes</summary>{timeline.table()._repr_html_()}</details>
</main>
<script type="application/json" id="data">{_json(pack(timeline))}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _json(data: dict[str, Any]) -> str:
    """Write packed columns as JSON that no name can break out of."""
    text = json.dumps(_encoded(data), ensure_ascii=False, separators=(",", ":"))
    # Inside of strings only: JSON has no such letters elsewhere.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _encoded(value: Any) -> Any:
    match value:
        case memoryview():
            return base64.b64encode(value).decode()
        case dict():
            return {key: _encoded(part) for key, part in value.items()}
        case list():
            return [_encoded(part) for part in value]
    return value
