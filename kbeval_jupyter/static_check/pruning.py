"""Takes out of a Python tree what never runs: ``if False``, code after a return, the main guard."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

_NEVER = {"TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'", "'__main__' == __name__"}


def prune(tree: ast.Module, *, alone: bool) -> ast.Module:
    """The tree without dead statements.

    Where the module is ``alone``, so that no other can set its flags, names that are bound once, to a constant, count as that.
    """
    pruned: ast.Module = _Pruner(_constants(tree) if alone else {}).visit(tree)
    return pruned


def _constants(tree: ast.Module) -> dict[str, Any]:
    """Top-level flags such as ``USE_KERNEL = False`` that nothing binds again."""
    stored = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    stored.update(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    found = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            for target in statement.targets:
                if isinstance(target, ast.Name) and stored[target.id] == 1 and target.id not in arguments:
                    found[target.id] = statement.value.value
    return found


class _Pruner(ast.NodeTransformer):
    def __init__(self, constants: dict[str, Any]) -> None:
        self._constants = constants

    def visit(self, node: ast.AST) -> Any:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, field, self._block(value) or [ast.copy_location(ast.Pass(), value[0])])
            elif isinstance(value, list):
                setattr(node, field, [self.visit(item) if isinstance(item, ast.AST) else item for item in value])
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        if isinstance(node, ast.IfExp) and (known := self._truth(node.test)) is not None:
            return node.body if known else node.orelse
        if isinstance(node, ast.BoolOp) and self._truth(node.values[0]) is isinstance(node.op, ast.Or):
            return node.values[0]
        return node

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for statement in statements:
            kept += self._statement(statement)
            if isinstance(kept[-1] if kept else None, ast.Return | ast.Raise | ast.Continue | ast.Break):
                break
        return kept

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.If):
            known = False if ast.unparse(statement.test) in _NEVER else self._truth(statement.test)
            if known is not None:
                return self._block(statement.body if known else statement.orelse)
        if isinstance(statement, ast.While) and self._truth(statement.test) is False:
            return self._block(statement.orelse)
        return [self.visit(statement)]

    def _truth(self, test: ast.expr) -> bool | None:
        """What a condition surely is; None where only running it tells."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.Name) and test.id in self._constants:
            return bool(self._constants[test.id])
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._truth(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            values = [self._truth(value) for value in test.values]
            decisive = isinstance(test.op, ast.Or)
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        return None
