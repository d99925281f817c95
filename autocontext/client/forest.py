"""The TODO forest as text: shallow trees, stable ids, spent branches folded, all within a token budget.

S0: the start
  a1 open fridge: You open the fridge, revealing a carrot.
    a2 take carrot: You take the carrot. -> S1
  a3 cook carrot with stove: FAILED You are not carrying the carrot.
S1 (from a2): in kitchen; You are carrying: a carrot.
"""

from __future__ import annotations

from collections.abc import Sequence

from autocontext.types import State, Todo

CHARACTERS_PER_TOKEN = 3
"""A cautious estimate: English in common tokenizers has about four."""
_WIDTHS = (160, 80, 40, 0)
"""Lengths to which key results are cut, one after the other, until the budget holds."""


def render_forest(states: Sequence[State], todos: Sequence[Todo], *, max_tokens: int | None = None) -> str:
    """Serialise the forest. Key results are shortened first, then the later children of a node folded to a count."""
    children: dict[str, list[Todo]] = {}
    for todo in todos:
        children.setdefault(todo.parent, []).append(todo)
    promoted: dict[str | None, str] = {state.promoted_from: state.id for state in states if state.promoted_from}
    if max_tokens is None:
        return "\n".join(_lines(states, children, promoted, _WIDTHS[0], None))
    room = max_tokens * CHARACTERS_PER_TOKEN
    for keep in (None, 16, 8, 4, 2, 1, 0):
        for width in _WIDTHS:
            text = "\n".join(_lines(states, children, promoted, width, keep))
            if len(text) <= room:
                return text
    lines, text = text.splitlines(), ""
    kept: list[str] = []
    for line in lines:
        if sum(len(other) + 1 for other in kept) + len(line) + 30 > room:
            break
        kept.append(line)
    return "\n".join([*kept, f"... {len(lines) - len(kept)} more states"])[:room]


def _lines(
    states: Sequence[State],
    children: dict[str, list[Todo]],
    promoted: dict[str | None, str],
    width: int,
    keep: int | None,
) -> list[str]:
    lines = []
    for state in states:
        origin = f" (from {state.promoted_from})" if state.promoted_from else ""
        lines.append(f"{state.id}{origin}: {_cut(state.summary, width)}".rstrip(": "))
        lines += _below(state.id, 1, children, promoted, width, keep)
    return lines


def _below(
    node: str,
    depth: int,
    children: dict[str, list[Todo]],
    promoted: dict[str | None, str],
    width: int,
    keep: int | None,
) -> list[str]:
    lines, pad = [], "  " * depth
    done = children.get(node, [])
    shown = done if keep is None else done[:keep]
    for todo in shown:
        mark = " (diverged)" if todo.outcome == "diverged" else ""
        result = _cut(todo.key_result, width)
        arrow = f" -> {promoted[todo.id]}" if todo.id in promoted else ""
        lines.append(f"{pad}{todo.id} {_cut(todo.text, 200)}{mark}" + (f": {result}" if result else "") + arrow)
        lines += _below(todo.id, depth + 1, children, promoted, width, keep)
    if folded := done[len(shown) :]:
        total = sum(1 + _count(todo.id, children) for todo in folded)
        failed = sum(todo.outcome == "refused" for todo in folded)
        lines.append(f"{pad}... {total} more" + (f", {failed} of them failed" if failed else ""))
    return lines


def _count(node: str, children: dict[str, list[Todo]]) -> int:
    return sum(1 + _count(todo.id, children) for todo in children.get(node, []))


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(0, width - 2)].rstrip() + " …" if width else ""
