"""Checks that are put into chat templates before they are compiled: around loops, new lists, and `~`."""

from __future__ import annotations

from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.visitor import NodeTransformer

COUNTED, JOINED, WEIGHED = "_counted", "_joined", "_weighed"  # names of filters that no template writes itself


class Guards(NodeTransformer):
    """Puts checks around what loops read, around new lists, and in place of `~`."""

    def __init__(self, environment: jinja2.Environment):
        self.environment = environment

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = self._filtered(COUNTED, node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return self._filtered(JOINED, nodes.List(node.nodes, lineno=node.lineno, environment=self.environment))

    def visit_List(self, node: nodes.List) -> nodes.Node:
        return self._weighed(node, node.items)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        return self._weighed(node, node.items) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        return self._weighed(node, [part for pair in node.items for part in (pair.key, pair.value)])

    def _weighed(self, node: nodes.Expr, parts: list[nodes.Expr]) -> nodes.Node:
        self.generic_visit(node)
        return node if all(isinstance(part, nodes.Const) for part in parts) else self._filtered(WEIGHED, node)

    def _filtered(self, name: str, node: Any) -> nodes.Filter:
        return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno, environment=self.environment)
