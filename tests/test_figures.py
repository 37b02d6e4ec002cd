"""Figures and tables carry their meaning in words, too."""

import matplotlib.pyplot as plt
import pytest

from d2lperf.figures import described
from d2lperf.tables import table


def test_a_described_figure_has_alternative_text_and_is_closed():
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    image = described(figure, "A line that <rises>.")
    bundle = image._repr_mimebundle_()
    assert bundle["text/plain"] == "A line that <rises>."
    assert 'alt="A line that &lt;rises&gt;."' in bundle["text/html"]
    assert image.png.startswith(b"\x89PNG")
    assert not plt.fignum_exists(figure.number)


def test_a_figure_without_a_description_is_refused():
    figure = plt.figure()
    with pytest.raises(ValueError, match="what the figure shows"):
        described(figure, " ")
    plt.close(figure)


def test_a_table_lines_up_as_text_and_names_its_rows_and_columns():
    shown = table(("", "time"), [("a", "1 s"), ("longer", "20 ms")], caption="Times")
    assert str(shown).splitlines() == ["Times", "         time", "a         1 s", "longer  20 ms"]
    markup = shown._repr_html_()
    assert '<th scope="col">time</th>' in markup and "<caption>Times</caption>" in markup
    assert markup.count('scope="row"') == 2


def test_a_table_escapes_what_it_shows():
    assert "<b>" not in table(("", "x"), [("<b>", "<b>")])._repr_html_()


def test_a_row_that_does_not_fit_the_header_is_refused():
    with pytest.raises(ValueError, match="expected 2 cells"):
        table(("", "time"), [("a", "1", "2")])
