"""A chat model that computes its replies from the text of the prompt and from nothing else.

It stands where a language model would: it reads what the prompts of the explorer show, and answers as a diligent, not
very clever player would. Which strategies it knows it reads in the system message, like any model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

DIRECTIONS = ("north", "south", "east", "west", "up", "down")
ENDS = set(
    "a an the and or but is are was which that with on in into to from at by for as of you your it leading looks here "
    "there can could lies lie leads lead stand stair appears "
    "seems containing contains against next near you've can sits stands".split()
)
STATES = set("closed open opened locked large normal typical raw fried roasted grilled sliced diced".split())
PLAIN = set("exit exits way thing things room floor ground bit lot place kind shop end sound".split())


class ScriptedModel(BaseChatModel):
    """Replies by a function of (system text, user text). Its usage is a word a token."""

    brain: Any
    calls: list[tuple[str, str]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **more: Any,
    ) -> ChatResult:
        system = "\n".join(str(message.content) for message in messages if message.type == "system")
        user = "\n".join(str(message.content) for message in messages if message.type != "system")
        self.calls.append((system, user))
        reply = self.brain(system, user)
        if isinstance(reply, AIMessage):
            return ChatResult(generations=[ChatGeneration(message=reply)])
        text = reply if isinstance(reply, str) else json.dumps(reply)
        used = {"input_tokens": len((system + user).split()), "output_tokens": len(text.split())}
        message = AIMessage(text, usage_metadata={**used, "total_tokens": sum(used.values())})
        return ChatResult(generations=[ChatGeneration(message=message)])


def scripted(brain: Callable[[str, str], Any]) -> ScriptedModel:
    """A model with its own list of calls."""
    return ScriptedModel(brain=brain, calls=[])


def role_of(system: str) -> str:
    """Which role a system message asks for."""
    for role, words in (
        ("planner", "You plan the exploration"),
        ("extractor", "You keep the facts"),
        ("key_results", "You shorten"),
        ("promoter", "You decide from which"),
    ):
        if words in system:
            return role
    raise AssertionError(f"no role in {system[:80]!r}")


def lines_of(user: str, tag: str) -> list[str]:
    """The lines of data between two tags."""
    found = re.search(rf"<{tag}>\n(.*?)\n?</{tag}>", user, re.DOTALL)
    return [line for line in found.group(1).split("\n") if line] if found else []


def entries_of(user: str, tag: str) -> list[dict[str, Any]]:
    """The JSON objects between two tags."""
    return [json.loads(line) for line in lines_of(user, tag)]


def explorer(system: str, user: str) -> dict[str, Any]:
    """The diligent player: every role."""
    role = role_of(system)
    if role == "planner":
        return plan(system, user)
    if role == "extractor":
        return {"edits": list(edits(entries_of(user, "steps")))}
    if role == "key_results":
        return {
            "results": [
                {"todo": entry["todo"], "key_result": " ".join(entry["observed"].split())[:120]}
                for entry in entries_of(user, "entries")
            ]
        }
    return {
        "states": [
            {"todo": entry["todo"], "summary": f"in {entry['at']} after {entry['action']}"}
            for entry in entries_of(user, "nodes")
            if entry["action"].startswith("go ")
        ]
    }


def plan(system: str, user: str) -> dict[str, Any]:
    """Goes through every exit, opens what is closed, then examines what is named; by what was missing and by shorter
    names where that failed."""
    most = int(re.search(r"Propose at most (\d+)", user).group(1))  # type: ignore[union-attr]
    # A name in a fact may be spelled another way than where the agent stands: the first that was written counts.
    leads = {tuple(line.casefold().split(" | ")[:2]) for line in lines_of(user, "facts")}
    entries = sorted(entries_of(user, "situations"), key=lambda entry: len(entry.get("changed", ())))
    done = {(entry["place"], action) for entry in entries for action in entry.get("tried", ())}
    offers: list[tuple[float, str, str, str]] = []

    def offer(worth: float, entry: dict[str, Any], action: str, strategy: str) -> None:
        if f'Strategy "{strategy}"' in system and (entry["place"], action) not in done:
            done.add((entry["place"], action))
            offers.append((worth + len(entry.get("changed", ())), entry["node"], action, strategy))

    failed = "\n".join(lines_of(user, "failed") + lines_of(user, "facts"))
    for entry in entries:
        for door in re.findall(r"You have to open the ([\w' -]+) first", failed):
            if door in entry["seen"]:
                offer(0.5, entry, f"open {door}", "dependency")
        for worth, action in wishes(entry["seen"]):
            verb, _, name = action.partition(" ")
            if verb == "go":
                known = (entry["place"].casefold(), f"leads {name} to") in leads
                if not known and action not in entry.get("tried", ()):
                    done.discard((entry["place"], action))
                    offer(worth, entry, action, "pattern")
                continue
            offer(worth, entry, action, "pattern")
            if re.search(rf"{re.escape(action)}(: FAILED| \\|) You can't see", failed) and " " in name:
                offer(worth, entry, f"{verb} {name.partition(' ')[2]}", "correction")
    offers.sort(key=lambda found: found[0])
    paths = [
        {"strategy": strategy, "start": node, "actions": [action], "reason": "not tried there"}
        for _, node, action, strategy in offers[:most]
    ]
    return {"paths": paths, "explored": not paths, "why": "" if paths else "every exit, container and thing was tried"}


def wishes(seen: str) -> Iterable[tuple[int, str]]:
    """Actions that a description suggests; the smaller the number the sooner."""
    words = re.findall(r"[a-z]+", seen.casefold())
    for direction in DIRECTIONS:
        if direction in words:
            yield 0, f"go {direction}"
    for name in names(seen):
        if re.search(rf"closed {re.escape(name)}|{re.escape(name)} is closed", seen):
            yield 1, f"open {name}"
        yield 2, f"examine {name}"


def names(text: str) -> list[str]:
    """Noun phrases: what follows an article, up to a word that ends it."""
    found: dict[str, None] = {}
    for match in re.finditer(r"\b(?:an?|some|the)\b", text, re.IGNORECASE):
        words: list[str] = []
        for word in re.findall(r"[\w'-]+|[^\w\s]", text[match.end() : match.end() + 80])[:6]:
            if word.casefold() in ENDS or not re.match(r"\w", word):
                break
            words.append(word)
        while words and words[0] in STATES:
            words.pop(0)
        if words and words[-1].casefold() not in PLAIN and len(words) <= 4:
            found[" ".join(words)] = None
    return list(found)


def edits(steps: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """What each step shows: the room, its exits and its things; and what failed."""
    for step in steps:
        text, number = step["observed"], step["step"]
        heading = re.search(r"-= (.+?) =-", text)
        here = heading.group(1) if heading else step.get("at") or text.split("\n")[0]
        if not here:
            continue
        if step.get("refused"):
            yield edit(here, f"refuses {step['action']}", text, number, "mechanics", value=True)
            continue
        if heading and step.get("action", "").startswith("go "):
            yield edit(step["at"], f"leads {step['action'].split()[1]} to", here, number, "mechanics")
        elif heading:
            yield edit(here, "is", "the start", number, "place", value=True)
        answered = [step["action"].partition(" ")[2]] if step.get("action", "").startswith(("examine", "open")) else []
        listed = text.partition("Ingredients:")[2].partition("Directions:")[0].split("\n")
        for name in names(text) + answered + [line.strip() for line in listed if line.strip()]:
            if name.casefold() != here.casefold():
                yield edit(name, "seen in", here, number, "place")


def edit(subject: str, predicate: str, target: str, number: int, kind: str, *, value: bool = False) -> dict[str, Any]:
    return {
        "op": "add", "subject": subject, "predicate": predicate, "object": target[:200], "object_is_value": value,
        "kind": kind, "evidence": [number],
    }  # fmt: skip
