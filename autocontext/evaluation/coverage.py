"""Coverage of an explored instance, measured against the truth of its game.

An entity counts as covered at the first step that is evidence of a live fact about it and shows its name. Precision
is over the facts that the truth can judge; what it cannot judge is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import Field

from autocontext.evaluation.textworld import Truth, key_of
from autocontext.types import Data, Fact, Step, normalise

SHARES = (0.5, 0.75, 0.95, 1.0)


class Entities(Data):
    """Named entities of the truth, and those that the graph shows."""

    truth: int
    covered: int
    share: float
    missed: list[str]


class Facts(Data):
    """Live facts against the truth; precision is None when none could be checked."""

    checked: int
    right: int
    precision: float | None
    wrong: list[str]
    unchecked: int


class Relations(Data):
    """The core relations of the truth, and those that the graph holds."""

    truth: int
    found: int
    recall: float
    missed: list[str]


class Judged(Data):
    """Facts and relations under one view of the graph."""

    facts: Facts
    relations: Relations


class Coverage(Data):
    """What `autocontext measure coverage` reports; steps are those of the exploration, replay not counted."""

    instance: str
    steps: int
    entities: Entities
    steps_to: dict[str, int | None]
    curve: list[tuple[int, float]] = Field(description="(step, share of entities covered by then)")
    facts: Facts
    relations: Relations
    without_inferred: Judged


def measure(instance: str, truth: Truth, facts: Sequence[Fact], steps: Sequence[Step]) -> Coverage:
    """Compare live facts and the steps that prove them with the truth."""
    covered = _covered(truth, facts, {step.number: step for step in steps})
    total = len(truth.entities)
    order = sorted(covered.values())
    curve = [(at, round(sum(n <= at for n in order) / total, 4)) for at in sorted(set(order))] if total else []
    judged, proven = _judge(truth, facts), _judge(truth, [fact for fact in facts if fact.kind != "inferred"])
    return Coverage(
        instance=instance,
        steps=max((step.number for step in steps), default=0),
        entities=Entities(
            truth=total,
            covered=len(covered),
            share=round(len(covered) / total, 4) if total else 0.0,
            missed=sorted(name for key, name in truth.entities.items() if key not in covered),
        ),
        steps_to={str(share): next((at for at, reached in curve if reached >= share), None) for share in SHARES},
        curve=curve,
        facts=judged.facts,
        relations=judged.relations,
        without_inferred=proven,
    )


def _covered(truth: Truth, facts: Iterable[Fact], steps: dict[int, Step]) -> dict[str, int]:
    """Normalised name -> first step that proves a fact about it and shows its name."""
    shown = {number: _text(step) for number, step in steps.items()}
    first: dict[str, int] = {}
    for fact in facts:
        for name in fact.triplet.entities:
            key = normalise(name)
            if key not in truth.entities:
                continue
            for number in fact.evidence:
                if key in shown.get(number, "") and number < first.get(key, number + 1):
                    first[key] = number
    return first


def _text(step: Step) -> str:
    seen = step.observation
    return normalise(" ".join((seen.text, seen.inventory or "", *(seen.admissible or ()))))


def _judge(truth: Truth, facts: Sequence[Fact]) -> Judged:
    verdicts = [(fact, truth.check(fact.triplet)) for fact in facts]
    checked = [verdict for _, verdict in verdicts if verdict is not None]
    said = {key_of(fact.triplet) for fact in facts}
    found = truth.core & said
    return Judged(
        facts=Facts(
            checked=len(checked),
            right=sum(checked),
            precision=round(sum(checked) / len(checked), 4) if checked else None,
            wrong=[f"{f.subject} | {f.predicate} | {f.object}" for f, verdict in verdicts if verdict is False],
            unchecked=len(verdicts) - len(checked),
        ),
        relations=Relations(
            truth=len(truth.core),
            found=len(found),
            recall=round(len(found) / len(truth.core), 4) if truth.core else 0.0,
            missed=[" | ".join(key) for key in sorted(truth.core - found)],
        ),
    )
