"""What depends on what in a function: its jaxpr as a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from d2lperf.figures import DescribedFigure, described

if TYPE_CHECKING:
    import networkx as nx

# Marker, size and colour. Shapes tell the kinds apart without the colours, which are Okabe and Ito's.
_STYLE = {
    "input": ("s", 2900, "#56B4E9"),
    "constant": ("D", 900, "#F0E442"),
    "operation": ("o", 2200, "#E69F00"),
    "output": ("h", 3900, "#8FD4B9"),
}


def dataflow_graph(function: Callable[..., Any], *args: Any) -> nx.DiGraph:
    """Trace a function and return which of its operations needs the result of which.

    Args:
        function: what JAX can trace.
        *args: example arguments; only shapes and types matter.

    Returns:
        A directed graph. Nodes have `kind` ("input", "constant", "operation" or "output"), `label` and
        `layer`: 0 for inputs, else one more than the largest layer they need; a constant stands
        right before the operation that needs it.
    """
    import jax
    import networkx as nx
    from jax.extend.core import Literal

    jaxpr = jax.make_jaxpr(function)(*args).jaxpr
    names = _argument_names(function, args)
    # A jitted function is one call around the operations that one wants to see.
    while len(jaxpr.eqns) == 1 and "jaxpr" in jaxpr.eqns[0].params:
        inner = jaxpr.eqns[0].params["jaxpr"].jaxpr
        if len(inner.invars) != len(names) or list(jaxpr.eqns[0].invars) != list(jaxpr.invars):
            break
        jaxpr = inner
    graph = nx.DiGraph()
    home: dict[Any, str] = {}

    def add(kind: str, label: str) -> str:
        node = f"{kind} {graph.number_of_nodes()}"
        graph.add_node(node, kind=kind, label=label)
        return node

    def connect(atoms: list[Any], node: str) -> None:
        for atom in atoms:
            literal = isinstance(atom, Literal)
            graph.add_edge(add("constant", f"{atom.val}") if literal else home[atom], node)

    for variable, name in zip(jaxpr.invars, names, strict=True):
        home[variable] = add("input", f"{name}\n{_kind_of(variable)}")
    for variable in jaxpr.constvars:
        home[variable] = add("constant", _kind_of(variable))
    for equation in jaxpr.eqns:
        node = add("operation", str(equation.params.get("name", equation.primitive.name)))
        connect(equation.invars, node)
        home |= dict.fromkeys(equation.outvars, node)
    for variable in jaxpr.outvars:
        connect([variable], add("output", f"result\n{_kind_of(variable)}"))
    for layer, nodes in enumerate(nx.topological_generations(graph)):
        nx.set_node_attributes(graph, dict.fromkeys(nodes, layer), "layer")
    for node, data in graph.nodes(data=True):
        if data["kind"] == "constant" and graph.out_degree(node):
            data["layer"] = min(graph.nodes[user]["layer"] for user in graph.successors(node)) - 1
    return graph


def dataflow(function: Callable[..., Any], *args: Any) -> DescribedFigure:
    """Draw which operations of a function need the results of which.

    What is not connected by arrows may be computed at the same time; a chain may not.

    Args:
        function: what JAX can trace, of up to a few dozen operations.
        *args: example arguments; only shapes and types matter.

    Returns:
        The drawing, with every arrow listed in its description.
    """
    import matplotlib.pyplot as plt
    import networkx as nx

    graph = dataflow_graph(function, *args)
    data = dict(graph.nodes(data=True))
    layers = [node["layer"] for node in data.values()]
    deep, wide = 1 + max(layers), max(map(layers.count, layers))
    # From left to right, and in a layer from the top.
    place, rank = {}, dict.fromkeys(layers, 0)
    for name, node in data.items():
        layer = node["layer"]
        place[name] = (layer, (layers.count(layer) - 1) / 2 - rank[layer])
        rank[layer] += 1
    # A layer is 1.7 inches wide and a row one inch high, with room for the largest shape.
    figure = plt.figure(figsize=(1.7 * deep, wide))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.5, deep - 0.5), ylim=(-wide / 2, wide / 2))
    sizes = [_STYLE[node["kind"]][1] for node in data.values()]
    nx.draw_networkx_edges(graph, place, ax=axes, node_size=sizes, arrowsize=14, edge_color="#444")
    for kind, (shape, size, colour) in _STYLE.items():
        nodes = [name for name, node in data.items() if node["kind"] == kind]
        look = {"node_shape": shape, "node_size": size, "node_color": colour, "edgecolors": "#222"}
        nx.draw_networkx_nodes(graph, place, nodes, ax=axes, **look)
    label = {name: node["label"] for name, node in data.items()}
    nx.draw_networkx_labels(graph, place, label, ax=axes, font_size=8)
    axes.set_axis_off()
    arrows = ", ".join(f"{_word(label[a])} → {_word(label[b])}" for a, b in graph.edges)
    return described(figure, f"Dependency graph: {arrows}.")


def _word(label: str) -> str:
    return label.partition("\n")[0]


def _kind_of(variable: Any) -> str:
    shape = ",".join(map(str, variable.aval.shape))
    return f"{variable.aval.dtype}[{shape}]"


def _argument_names(function: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    import jax

    bound = inspect.signature(function).bind(*args).arguments
    paths, _ = jax.tree_util.tree_flatten_with_path(dict(bound))
    # Leaves come sorted by key; a function's arguments come in its own order.
    by_argument: dict[str, list[str]] = {name: [] for name in bound}
    for (first, *rest), _leaf in paths:
        by_argument[first.key].append(first.key + jax.tree_util.keystr(tuple(rest)))
    return [name for names in by_argument.values() for name in names]
