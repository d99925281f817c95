"""One iteration, one transaction: all of it or nothing, and once, however often it is applied."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Iterable
from typing import Any

from autocontext.errors import DatabaseError, InvalidEdit, UnknownInstance
from autocontext.graph import facts as rules
from autocontext.graph import forest, leases
from autocontext.graph.connection import Inconsistent, Transaction
from autocontext.types import Fact, Iteration, Lease, Naming, entity_id, fact_id


def digest(iteration: Iteration) -> str:
    """What the iteration says, as a hash: without what it cost, which differs when a run is resumed.

    Raises:
        InvalidEdit: some text of it is no valid Unicode.
    """
    try:
        content = iteration.model_dump_json(exclude={"usage", "replayed"})
    except ValueError as error:  # pydantic's PydanticSerializationError is one
        raise InvalidEdit(f"iteration {iteration.n} holds text that is no valid Unicode: {error}") from None
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def apply_iteration(
    transaction: Transaction, scope: str, iteration: Iteration, now: int, lease: Lease | None = None
) -> None:
    """Write everything that an iteration holds. One that is there already is left alone.

    Raises:
        LeaseLost: the lease was taken by another process.
        InstanceBusy: without a lease, while another process holds one.
        UnknownInstance: no such instance.
        DatabaseError: the instance is not at the iteration before it, or has another iteration of that number; a todo
            or step does not fit to what is stored.
        InvalidEdit: an edit or a text breaks a rule of the data model.
    """
    locked = transaction.run("lock_instance", id=scope, token=uuid.uuid4().hex)
    if not locked:
        raise UnknownInstance(f"there is no instance '{scope}'; register it before committing to it.")
    stored = locked[0]["instance"]
    leases.must_hold(scope, stored, locked[0]["now"], lease)
    applied, last_step, naming = stored["applied_iteration"], stored["last_step"], stored["naming"]
    if iteration.n <= applied:
        _must_be_the_same(transaction, scope, iteration)
        return
    if iteration.n != applied + 1:
        where = "is being forgotten" if applied < 0 else f"is at iteration {applied}"
        raise DatabaseError(
            f"instance '{scope}' {where}, so iteration {iteration.n} cannot be committed; "
            "start the exploration again: it continues from what is stored."
        )
    numbers = [step.number for todo in iteration.todos for step in todo.steps]
    numbers += [step.number for episode in iteration.episodes for step in episode.steps]
    if numbers and (len(set(numbers)) != len(numbers) or min(numbers) <= last_step):
        raise DatabaseError(f"iteration {iteration.n} of '{scope}' numbers a step twice (the last was {last_step}).")
    new_last = max(numbers, default=last_step)
    for edit in iteration.edits:
        rules.check(edit, naming, new_last)
    fingerprint = digest(iteration)

    changed, fact_ids, counts = _settle(transaction, scope, iteration, naming)
    _write_todos(transaction, scope, iteration, fact_ids)
    _write_episodes(transaction, scope, iteration, fact_ids)
    _write_facts(transaction, scope, naming, changed, iteration.n)
    old_steps = [
        {"id": forest.step_id(scope, number), "fact_ids": ids}
        for number, ids in sorted(fact_ids.items())
        if number <= last_step
    ]
    _all_written(transaction.write_rows("link_steps_to_facts", old_steps), old_steps, "steps that evidence names")
    templates = [
        {"id": entity_id(scope, name, naming="exact"), "class": name, **revealed.model_dump()}
        for name, revealed in sorted(iteration.templates.items())
    ]
    transaction.write_rows("upsert_templates", templates, instance=scope, scope=scope)
    corrected = sorted({fact_id(scope, edit.triplet, naming) for edit in iteration.edits}) if iteration.because else []
    transaction.run(
        "close_iteration",
        instance=scope,
        scope=scope,
        iteration=_iteration_row(scope, iteration, new_last, counts, corrected, fingerprint, now),
        explored=(stored.get("explored_iterations") or 0) + iteration.explored,
        leased=lease is not None,
    )
    if iteration.explored and (stored["status"] != "exploring" or stored.get("stopped_because")):
        transaction.run("mark_exploring", id=scope)


def _must_be_the_same(transaction: Transaction, scope: str, iteration: Iteration) -> None:
    stored = transaction.run("iteration_digest", id=forest.iteration_id(scope, iteration.n))
    if not stored or stored[0]["digest"] != digest(iteration):
        raise DatabaseError(
            f"instance '{scope}' has another iteration {iteration.n} already: something else explores it too. "
            "Stop one of the two, or explore under another name with --instance."
        )


def _settle(
    transaction: Transaction, scope: str, iteration: Iteration, naming: Naming
) -> tuple[list[Fact], dict[int, list[str]], dict[str, int]]:
    """The facts that change, which facts each step is evidence for, and how many were added and retired."""
    verdicts = rules.settle(iteration.edits, scope, naming)
    touched = [rules.ends_row(verdict.id, verdict.triplet, scope, naming) for verdict in verdicts]
    by_subject, by_object = _by_rarer_end(touched)
    found = transaction.read_rows("touched_facts", by_subject)
    found += transaction.read_rows("touched_facts_by_object", by_object)
    old = {fact.id: fact for fact in map(rules.fact_of, found)}
    changed: list[Fact] = []
    fact_ids: dict[int, list[str]] = {}
    counts = {"added": 0, "retired": 0}
    for verdict in verdicts:
        before = old.get(verdict.id)
        fact = rules.apply(before, verdict, iteration.n)
        if fact is None:
            continue
        for number in verdict.evidence:
            fact_ids.setdefault(number, []).append(fact.id)
        if fact != before:
            changed.append(fact)
            counts["added"] += fact.added[-1] == iteration.n
            counts["retired"] += fact.retired[-1:] == (iteration.n,)
    return changed, {number: sorted(ids) for number, ids in fact_ids.items()}, counts


def _write_todos(transaction: Transaction, scope: str, iteration: Iteration, fact_ids: dict[int, list[str]]) -> None:
    _must_be_local(todo.id for todo in iteration.todos)
    _must_be_local(state.id for state in iteration.promoted)
    transaction.write_rows("create_todos", forest.todo_rows(scope, iteration, fact_ids), scope=scope)
    links = [
        {"id": forest.global_id(scope, todo.id), "parent": forest.global_id(scope, todo.parent)}
        for todo in iteration.todos
    ]
    _all_written(transaction.write_rows("link_todos", links, scope=scope), links, "parents of todos")
    promoted = [
        {
            "todo": forest.global_id(scope, state.promoted_from or ""),
            "state": forest.state_row(scope, state, iteration.n, position),
        }
        for position, state in enumerate(iteration.promoted)
    ]
    written = transaction.write_rows("promote_todos", promoted, instance=scope, scope=scope)
    _all_written(written, promoted, "todos to promote")
    diverged = [{"id": forest.global_id(scope, identifier)} for identifier in iteration.diverged]
    _all_written(transaction.write_rows("mark_diverged", diverged), diverged, "todos that diverged")


def _write_episodes(transaction: Transaction, scope: str, iteration: Iteration, fact_ids: dict[int, list[str]]) -> None:
    _must_be_local(episode.id for episode in iteration.episodes)
    episodes = forest.episode_rows(scope, iteration)
    begun = {row["id"] for row in transaction.read_rows("begun_episodes", [{"id": row["id"]} for row in episodes])}
    new = [row for row in episodes if row["id"] not in begun]
    _all_written(transaction.write_rows("create_episodes", new, instance=scope, scope=scope), new, "episodes")
    steps = forest.episode_step_rows(scope, iteration, fact_ids)
    _all_written(transaction.write_rows("create_episode_steps", steps, scope=scope), steps, "steps of episodes")


def _must_be_local(identifiers: Iterable[str]) -> None:
    for identifier in identifiers:
        if "/" in identifier or not identifier:
            raise DatabaseError(f"'{identifier}' is no id of its own: it may not be empty or hold a slash.")


def _write_facts(transaction: Transaction, scope: str, naming: Naming, changed: list[Fact], n: int) -> None:
    entities = rules.entity_rows((fact for fact in changed if fact.live), scope, naming)
    token = rules.scope_token(scope)
    transaction.write_rows("upsert_entities", entities, scope=scope, scope_token=token)
    new = [rules.fact_row(fact, scope, naming) for fact in changed if fact.added == (n,)]
    _all_written(transaction.write_rows("create_facts", new, scope=scope), new, "ends of new facts")
    old = [rules.fact_row(fact, scope, naming) for fact in changed if fact.added != (n,)]
    by_subject, by_object = _by_rarer_end(old)
    _all_written(transaction.write_rows("update_facts", by_subject), by_subject, "facts")
    _all_written(transaction.write_rows("update_facts_by_object", by_object), by_object, "facts")


def _by_rarer_end(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Facts that are better found from their subjects, and from their objects: the end that more of them share has the
    more facts to look through."""
    subjects, objects = Counter(row["subject"] for row in rows), Counter(row["object"] for row in rows)
    by_object = [row for row in rows if subjects[row["subject"]] > objects[row["object"]]]
    return [row for row in rows if subjects[row["subject"]] <= objects[row["object"]]], by_object


def _all_written(written: int, rows: list[dict[str, Any]], what: str) -> None:
    """A row whose anchor is missing is skipped silently by both engines; then nothing at all may be committed."""
    if written != len(rows):
        raise Inconsistent(f"of {len(rows)} {what} only {written} are in the database; nothing was committed.")


def _iteration_row(
    scope: str,
    iteration: Iteration,
    last_step: int,
    counts: dict[str, int],
    corrected: list[str],
    fingerprint: str,
    now: int,
) -> dict[str, Any]:
    """The properties of an Iteration node; what has a structure of its own is JSON."""
    return {
        "id": forest.iteration_id(scope, iteration.n),
        "scope": scope,
        "n": iteration.n,
        "steps_used": iteration.steps_used,
        "replayed": iteration.replayed,
        "last_step": last_step,
        "todos": len(iteration.todos),
        "promoted": len(iteration.promoted),
        "episodes": len(iteration.episodes),
        **counts,
        "idle": iteration.idle,
        "because": iteration.because,
        "fact_ids": corrected,
        "strategies": _json(Counter(todo.strategy for todo in iteration.todos)),
        "usage": _json(iteration.usage),
        "rejected_paths": _json([rejected.model_dump(mode="json") for rejected in iteration.rejected_paths]),
        "rejected_edits": _json([rejected.model_dump(mode="json") for rejected in iteration.rejected_edits]),
        "failures": _json([failure.model_dump(mode="json") for failure in iteration.failures]),
        "unread": list(iteration.unread),
        "digest": fingerprint,
        "at": now,
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
