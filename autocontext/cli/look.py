"""Commands that look at explored instances: instances, show, forest, evidence, history, query."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from autocontext.cli.output import InstanceId, Json, print_json, print_table, print_text
from autocontext.client import open_client
from autocontext.errors import UsageError
from autocontext.types import Fact

FactReference = Annotated[
    str, typer.Argument(metavar="FACT", help="A fact's id, an unambiguous part of it, or 'subject predicate object'.")
]


def instances(as_json: Json = False) -> None:
    """List the explored instances."""
    with open_client() as client:
        records = client.instances()
    if as_json:
        return print_json([record.model_dump(mode="json", exclude={"learned"}) for record in records])
    print_table(
        ("instance", "environment", "steps", "iterations", "status", "stopped because"),
        [(r.id, r.environment, r.steps_used, r.applied_iteration, r.status, r.stopped_because) for r in records],
    )


def show(
    instance: InstanceId,
    as_of: Annotated[int | None, typer.Option("--as-of", min=0, help="As the graph was after this iteration.")] = None,
    as_json: Json = False,
) -> None:
    """Show the facts of an instance."""
    with open_client() as client:
        found = client.facts(instance, as_of=as_of)
        latest = client.instance(instance).applied_iteration
    if as_json:
        at = latest if as_of is None else as_of
        return print_json({"instance": instance, "as_of": at, "facts": [_fact(fact) for fact in found]})
    print_table(
        ("subject", "predicate", "object", "kind", "evidence"),
        [(f.subject, f.predicate, f.object, f.kind, " ".join(map(str, f.evidence))) for f in found],
    )


def forest(
    instance: InstanceId,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Budget of the text.")] = None,
    as_json: Json = False,
) -> None:
    """Show what was tried, as a forest."""
    with open_client() as client:
        text = client.forest(instance, max_tokens=max_tokens)
    print_json({"instance": instance, "forest": text}) if as_json else print_text(text)


def evidence(instance: InstanceId, fact: FactReference, as_json: Json = False) -> None:
    """Show the steps that prove a fact: what was done, and what was seen."""
    with open_client() as client:
        found = client.fact(instance, fact)
        steps = client.evidence(instance, found.id)
        said = [event for event in client.events(instance, found.id) if event.because]
    if as_json:
        document = {"fact": _fact(found), "steps": [step.model_dump(mode="json") for step in steps]}
        return print_json(document | {"said": [event.model_dump() for event in said]})
    print_text(f"{found.subject} | {found.predicate} | {found.object}   ({found.kind}, {found.id})")
    for step in steps:
        print_text(f"\nstep {step.number}: {step.action or '(reset)'}\n{step.observation.text}")
        if step.observation.inventory:
            print_text(step.observation.inventory)
        if offered := [action for action in step.observation.admissible or () if _names(action, found)]:
            print_text(f"possible: {', '.join(offered)}")
    for event in said:
        print_text(f"\na person said so: {event.because}   ({event.what} in iteration {event.iteration})")


def history(instance: InstanceId, fact: FactReference, as_json: Json = False) -> None:
    """Show when a fact was added and retired."""
    with open_client() as client:
        found = client.fact(instance, fact)
        events = client.events(instance, found.id)
    if as_json:
        more = {"live": found.live, "retired_evidence": list(found.retired_evidence)}
        return print_json({**_fact(found), **more, "events": [event.model_dump() for event in events]})
    print_text(f"{found.subject} | {found.predicate} | {found.object}   ({found.kind}, {found.id})")
    print_table(
        ("iteration", "event", "a person's reason"),
        [(event.iteration, event.what, event.because or None) for event in events],
    )


def query(
    cypher: Annotated[str, typer.Argument(metavar="CYPHER", help="One read-only statement.")],
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="K=V", help="A parameter, V as JSON or text.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows at the most.")] = 1000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds at the most.")] = 30.0,
    as_json: Json = False,
) -> None:
    """Ask in Cypher. Only reading is possible; it sees every instance in the database."""
    parameters = dict(_parameter(text) for text in param or [])
    with open_client() as client:
        result = client.query(cypher, parameters, limit=limit, timeout=timeout)
    if as_json:
        return print_json({"columns": result.columns, "rows": result.rows, "truncated": result.truncated})
    print_table(result.columns, result.rows)
    if result.truncated:
        print_text(f"(cut after {limit} rows; see --limit)")


def _fact(fact: Fact) -> dict[str, Any]:
    keys = ("id", "subject", "predicate", "object", "object_is_value", "kind", "added", "retired", "evidence")
    return fact.model_dump(mode="json", include=set(keys))


def _names(action: str, fact: Fact) -> bool:
    """Does a listed action name what the fact is about?"""
    return fact.subject.casefold() in action.casefold()


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param takes NAME=VALUE, not '{text}'.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
