"""A claim shows once, says why, and can be collected from an executed notebook."""

import json
import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from d2lperf.claims import MIME_TYPE, Figure, claim
from d2lperf.stats import paired_ratio


@pytest.mark.parametrize(
    ("condition", "needs", "status"),
    [
        (True, {}, "holds"),
        (False, {}, "fails"),
        (None, {}, "cannot tell"),
        (True, {"a GPU": False}, "holds"),
        (False, {"a GPU": False}, "not here"),
        (False, {"a GPU": True}, "fails"),
        (False, {"a GPU": True, "2 cores": (False, "1 core")}, "not here"),
        (None, {"a GPU": False}, "cannot tell"),
    ],
)
def test_the_status_follows_from_the_condition_and_the_needs(
    condition: bool | None, needs: dict[str, Any], status: str
) -> None:
    assert claim("A is faster.", condition, needs=needs).status == status


@pytest.mark.parametrize("true", [np.bool_(True), np.float64(2) > 1, jnp.float32(2) > 1])
def test_the_booleans_of_numpy_and_jax_count_as_such(true: object) -> None:
    assert claim("So it is.", true).status == "holds"


def test_a_verdict_is_read_as_the_first_being_faster() -> None:
    quick, slow, wild = [1.0] * 8, [2.0] * 8, [1.0, 4.0] * 4
    assert claim("A is faster.", paired_ratio(quick, slow)).status == "holds"
    assert claim("A is faster.", paired_ratio(slow, quick)).status == "fails"
    assert claim("A is faster.", paired_ratio(quick, quick).verdict).status == "fails"
    assert claim("A is faster.", paired_ratio(wild, slow)).status == "cannot tell"
    assert claim("A is slower.", paired_ratio(slow, quick).slower).status == "holds"


@pytest.mark.parametrize("condition", ["yes", 1, [True], np.array([True, False])])
def test_a_condition_that_is_no_verdict_is_refused(condition: object) -> None:
    with pytest.raises(TypeError, match="write a comparison"):
        claim("So it is.", condition)


def test_it_says_what_the_machine_lacks() -> None:
    one = claim("A.", False, needs={"at least 2 cores": (False, "1 core"), "a GPU": False})
    assert one.because == (
        "It needs at least 2 cores, and does not show because this machine has 1 core. "
        "It needs a GPU, which this machine does not have."
    )


def test_figures_are_written_with_their_units() -> None:
    figures: dict[str, Figure] = {
        "a": (0.001, "s"),
        "b": (2048, "B"),
        "c": (3e9, "FLOP/s"),
        "d": (2e6, "FLOP"),
        "e": (33, ""),
        "f": (12.5, "%"),
        "g": (2, "×"),
        "h": 3.14159,
        "i": "as is",
    }
    shown = claim("A.", True, figures=figures).figures
    assert [figure["text"] for figure in shown.values()] == [
        *("1.00 ms", "2.00 KiB", "3.00 GFLOP/s", "2.00 MFLOP", "33"),
        *("12.5 %", "2 ×", "3.14", "as is"),
    ]
    assert shown["a"] == {"text": "1.00 ms", "value": 0.001, "unit": "s"}
    with pytest.raises(TypeError, match="for the figure 'x'"):
        claim("A.", True, figures={"x": object()})  # type: ignore[dict-item]


def test_a_claim_is_strict_json_even_with_figures_that_are_not_finite() -> None:
    made = claim("A.", True, figures={"x": (math.nan, "s"), "y": np.float32(2), "z": jnp.inf})
    data = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert data["figures"]["x"] == {"text": "nan s", "value": None, "unit": "s"}
    assert data["figures"]["y"]["value"] == 2


def test_the_box_escapes_its_text_and_tells_the_status_in_words() -> None:
    box = claim("a < b", False, figures={"<x>": "1 & 2"}, note="<note>")._repr_html_()
    for shown in ("a &lt; b", "&lt;x&gt;", "1 &amp; 2", "&lt;note&gt;", "Does not hold:"):
        assert shown in box
    assert "<note>" not in box
    assert 'role="note"' in box


def test_outside_a_notebook_it_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    claim("A is faster.", True, figures={"ratio": 2.0})
    assert capsys.readouterr() == ("✓ Holds: A is faster. [ratio 2]\n", "")


@dataclass
class Executed:
    notebook: Any

    def claims(self, cell: int) -> list[dict[str, Any]]:
        outputs = self.notebook.cells[cell].outputs
        assert all(output.output_type == "display_data" for output in outputs), outputs
        return [output.data[MIME_TYPE] for output in outputs]


@pytest.fixture(scope="module")
def executed() -> Executed:
    cells = [
        "from d2lperf.claims import claim",
        "claim('As the last expression.', True)",
        "c = claim('In the middle.', None, figures={'t': (1, 's')})\nx = 1",
        "claim('First.', True)\nclaim('Second.', False, needs={'a GPU': False})",
        "c",
        "c2 = claim('Once.', True)\nc2",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    nbformat.validate(notebook)
    return Executed(notebook)


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        (1, ["As the last expression."]),
        (2, ["In the middle."]),
        (3, ["First.", "Second."]),
        (4, ["In the middle."]),
        (5, ["Once."]),
    ],
)
def test_a_claim_shows_exactly_once_per_cell(
    executed: Executed, cell: int, texts: list[str]
) -> None:
    assert [shown["text"] for shown in executed.claims(cell)] == texts


def test_an_executed_notebook_keeps_text_box_and_data(executed: Executed) -> None:
    output = executed.notebook.cells[2].outputs[0]
    assert output.data["text/plain"] == (
        "? Cannot tell: In the middle. [t 1.00 s] The measurements spread too much to decide."
    )
    assert 'data-status="cannot tell"' in output.data["text/html"]
    assert output.data[MIME_TYPE]["figures"]["t"] == {"text": "1.00 s", "value": 1.0, "unit": "s"}
