"""`autocontext assert` and `autocontext retire`: what a person knows better."""

from __future__ import annotations

from typing import Annotated

import typer

from autocontext.cli.look import FactReference
from autocontext.cli.output import InstanceId, Json, print_json, print_text
from autocontext.explorer.corrections import Correction, assert_fact, retire_fact
from autocontext.explorer.run import open_store
from autocontext.types import Triplet

Because = Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is stored beside the fact.")]


def assert_(
    instance: InstanceId,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT")],
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE")],
    object: Annotated[str, typer.Argument(metavar="OBJECT")],
    because: Because,
    value: Annotated[bool, typer.Option("--value", help="The object is a literal (closed, 0755), no thing.")] = False,
    as_json: Json = False,
) -> None:
    """Add a fact that you know; later runs keep it."""
    triplet = Triplet(subject=subject, predicate=predicate, object=object, object_is_value=value)
    with open_store() as store:
        _tell("asserted", assert_fact(store, instance, triplet, because), as_json)


def retire(instance: InstanceId, fact: FactReference, because: Because, as_json: Json = False) -> None:
    """Retire a fact that is wrong; later runs do not bring it back."""
    with open_store() as store:
        _tell("retired", retire_fact(store, instance, fact, because), as_json)


def _tell(what: str, done: Correction, as_json: bool) -> None:
    if as_json:
        return print_json(done.model_dump(mode="json"))
    fact = done.fact
    print_text(f"{what} in iteration {done.iteration}: {fact.subject} | {fact.predicate} | {fact.object}   ({fact.id})")
