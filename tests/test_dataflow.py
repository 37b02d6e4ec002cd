"""A function's dependencies become a graph, and the graph a drawing."""

import jax
import jax.numpy as jnp
import pytest

from d2lperf.dataflow import dataflow, dataflow_graph

X = jnp.ones((1, 2))


def labelled(graph):
    """Edges by the first lines of their labels."""
    name = {node: data["label"].split("\n")[0] for node, data in graph.nodes(data=True)}
    return {(name[a], name[b]) for a, b in graph.edges}


def layer(graph, label):
    """Layer of the node with this label."""
    return next(d["layer"] for _, d in graph.nodes(data=True) if d["label"].startswith(label))


def test_a_result_depends_on_what_it_was_computed_from():
    graph = dataflow_graph(lambda x, y: x * y + 2, X, X)
    expected = {("x", "mul"), ("y", "mul"), ("mul", "add"), ("2.0", "add"), ("add", "result")}
    assert labelled(graph) == expected


def test_a_chain_takes_layers_and_independent_operations_share_one():
    graph = dataflow_graph(lambda x, y: jnp.sin(x) + jnp.cos(y), X, X)
    assert layer(graph, "sin") == layer(graph, "cos") == 1
    assert layer(graph, "add") == 2


def test_a_constant_stands_next_to_its_user():
    graph = dataflow_graph(lambda x: jnp.sin(x) + 2, X)
    assert layer(graph, "2.0") == layer(graph, "add") - 1


def test_a_jitted_function_shows_its_operations():
    plain = dataflow_graph(lambda x, y: x * y + 2, X, X)
    jitted = dataflow_graph(jax.jit(lambda x, y: x * y + 2), X, X)
    assert labelled(jitted) == labelled(plain)


def test_a_jitted_function_inside_another_is_one_operation():
    square = jax.jit(lambda x: x * x)
    graph = dataflow_graph(lambda x: square(x) + square(x + 1), X)
    operations = [d["label"] for _, d in graph.nodes(data=True) if d["kind"] == "operation"]
    assert len(operations) == 4


def test_leaves_of_containers_have_names():
    graph = dataflow_graph(lambda b, a: a["w"] @ b[0] + a["c"], (X.T,), {"w": X, "c": 1.0})
    inputs = [d["label"].split("\n")[0] for _, d in graph.nodes(data=True) if d["kind"] == "input"]
    assert inputs == ["b[0]", "a['c']", "a['w']"]


@pytest.mark.parametrize(
    "function",
    [lambda x: x, lambda x: (x, x + 1), lambda x: 3.0, lambda x: jax.nn.relu(x).sum()],
    ids=["identity", "two results", "constant", "nested"],
)
def test_unusual_functions_can_be_drawn(function):
    assert dataflow(function, X).png.startswith(b"\x89PNG")


def test_the_drawing_says_in_words_what_it_shows():
    drawing = dataflow(lambda x, y: x * y + 2, X, X)
    assert "x → mul" in drawing.alt and "mul → add" in drawing.alt
    assert "alt=" in drawing._repr_mimebundle_()["text/html"]


def test_drawing_leaves_no_figure_open():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    dataflow(lambda x: x + 1, X)
    assert plt.get_fignums() == before
