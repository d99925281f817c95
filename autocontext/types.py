"""The data that flows between the layers: pure, frozen pydantic models without behaviour of any layer.

An `Environment` yields `Observation`s and `StepResult`s; the Actor turns them into `Step`s and `Todo`s;
the Extractor reads them into `Edit`s of `Triplet`s; one `Iteration` carries all of it into the store in one
transaction; the store gives back `Fact`s. Vocabulary as in the README.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Naming = Literal["folded", "exact"]
Mode = Literal["action", "agent"]
FactKind = Literal["place", "property", "mechanics", "inferred", "person"]
Outcome = Literal["done", "refused", "terminated", "diverged"]
StopReason = Literal[
    "planner",
    "frontier_empty",
    "patience",
    "steps",
    "iterations",
    "tokens",
    "cost",
    "time",
    "model",
    "environment",
    "interrupted",
]


class Data(BaseModel):
    """Frozen, and refuses fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- what an environment says -------------------------------------------------------------------------


class Spec(Data):
    """What an environment instance is, before anything is known of it."""

    environment: str = Field(description="The environment's name, e.g. `textworld`.")
    source: str = Field(description="Where the instance comes from: a path, an image, `module:Class`.")
    source_hash: str = Field(description="Hash of what makes it this instance; another hash is another instance.")
    description: str = Field(default="", description="One line for people.")
    goal: str = Field(default="Find out what is here, and what can be done with it.", description="Task-free.")
    mode: Mode = "action"
    naming: Naming = "folded"


class Observation(Data):
    """All that an agent sees at one moment. Task, score and status lines are already stripped."""

    text: str
    inventory: str | None = None
    admissible: tuple[str, ...] | None = Field(default=None, description="None: the environment lists no actions.")


class StepResult(Data):
    """What one action brought about."""

    observation: Observation
    terminated: bool = False
    refused: bool = Field(default=False, description="The environment says that the action did nothing.")
    reward: float | None = Field(default=None, description="For downstream agents only; never explored or stored.")


class Facet(Data):
    """One changeable aspect of one thing: ("carrot", "location"), ("fridge", "openness")."""

    entity: str
    aspect: str


# --- what was tried -----------------------------------------------------------------------------------


class Step(Data):
    """One executed action and what it showed. `number` runs 1..N over the whole exploration; 0 is the reset."""

    number: int = Field(ge=0)
    action: str
    observation: Observation
    terminated: bool = False
    refused: bool = False


class Todo(Data):
    """A node of the forest below a state: one action (or, in agent mode, one subtask) and its key result."""

    id: str
    parent: str = Field(description="Id of the state or todo from which it was done.")
    text: str
    kind: Literal["action", "task"] = "action"
    outcome: Outcome = "done"
    key_result: str = ""
    strategy: str = ""
    iteration: int = 0
    steps: tuple[Step, ...] = ()


class State(Data):
    """A root of one of the forest's trees: s0 (id `S0`), or a promoted todo's situation."""

    id: str
    promoted_from: str | None = Field(default=None, description="Id of the todo whose situation it is; None for S0.")
    summary: str = ""
    iteration: int = 0
    step: Step | None = Field(default=None, description="Only S0: the reset's observation, as step 0.")


class Path(Data):
    """A proposal of the planner: do `actions` one after the other from an existing node."""

    start: str
    actions: tuple[str, ...]
    strategy: str = ""
    reason: str = ""


class RejectedPath(Data):
    """A proposal that was not carried out, and why; the next plan gets to see it."""

    path: Path
    why: str


# --- what is true -------------------------------------------------------------------------------------


class Triplet(Data):
    """Subject, predicate, object: free-form, no fixed schema. The object may be a literal value."""

    subject: str
    predicate: str
    object: str
    object_is_value: bool = False

    @property
    def entities(self) -> tuple[str, ...]:
        """The names of things in it: its subject, and its object unless that is a value."""
        return (self.subject,) if self.object_is_value else (self.subject, self.object)


class Edit(Data):
    """Add or remove one triplet. `evidence` are numbers of the steps that show it; without any it is refused."""

    op: Literal["add", "remove"] = "add"
    triplet: Triplet
    kind: FactKind = "property"
    evidence: tuple[int, ...] = ()
    rule: str = Field(default="", description="The adapter's inference rule, only for kind `inferred`.")


class RejectedEdit(Data):
    """An edit that the validator refused, and why."""

    edit: Edit
    why: str


class Fact(Data):
    """A stored triplet with its history."""

    id: str
    subject: str
    predicate: str
    object: str
    object_is_value: bool = False
    kind: FactKind = "property"
    live: bool = True
    added: tuple[int, ...] = Field(default=(), description="Iterations in which it was added (again).")
    retired: tuple[int, ...] = Field(default=(), description="Iterations in which it was retired.")
    evidence: tuple[int, ...] = Field(default=(), description="Numbers of the steps that show it.")
    retired_evidence: tuple[int, ...] = ()

    @property
    def triplet(self) -> Triplet:
        return Triplet(
            subject=self.subject, predicate=self.predicate, object=self.object, object_is_value=self.object_is_value
        )


class Revealed(Data):
    """What a class of actions revealed: `tried` times, so many new names, so many new words."""

    tried: float = 0
    names: float = 0
    words: float = 0

    def __add__(self, other: Revealed) -> Revealed:
        return Revealed(tried=self.tried + other.tried, names=self.names + other.names, words=self.words + other.words)


class Failure(Data):
    """A model's reply that could not be used, even after it was asked to repair it."""

    role: str = Field(description="planner, extractor, key_results or promoter.")
    what: str
    reply: str = Field(default="", description="Beginning of what it said.")


class Episode(Data):
    """A recorded trajectory that was not explored but ingested. A long one comes in parts, in several iterations."""

    id: str = Field(description="A hash of what was recorded: the same trajectory is stored once.")
    source: str = ""
    start: int = Field(default=0, ge=0, description="Number of the step that shows its start: 0, or its own first one.")
    steps: tuple[Step, ...] = Field(default=(), description="Its own steps, or, in an iteration, the next of them.")


# --- one transaction ----------------------------------------------------------------------------------


class Iteration(Data):
    """One turn of the loop: everything here is committed together or not at all."""

    n: int = Field(ge=1)
    todos: tuple[Todo, ...] = ()
    episodes: tuple[Episode, ...] = Field(default=(), description="Recorded trajectories, instead of todos.")
    promoted: tuple[State, ...] = ()
    diverged: tuple[str, ...] = Field(default=(), description="Todos of earlier iterations that replay differently.")
    edits: tuple[Edit, ...] = ()
    rejected_paths: tuple[RejectedPath, ...] = ()
    rejected_edits: tuple[RejectedEdit, ...] = ()
    templates: dict[str, Revealed] = Field(default_factory=dict, description="Totals here, of the classes touched.")
    steps_used: int = Field(default=0, description="Steps of the whole exploration so far, this iteration included.")
    replayed: int = Field(default=0, description="Steps replayed only to restore, so far.")
    because: str = Field(default="", description="A person's reason, where a person made the edits.")
    idle: int = Field(default=0, description="Iterations of exploration in a row up to here that brought nothing new.")
    failures: tuple[Failure, ...] = Field(default=(), description="Replies of models that could not be used.")
    unread: tuple[int, ...] = Field(default=(), description="Steps whose facts are to be read by the next iteration.")
    usage: dict[str, int] = Field(
        default_factory=dict, description="`ROLE.calls`, `ROLE.input_tokens` ...; empty without a model."
    )

    @property
    def explored(self) -> bool:
        """Is it a turn of the exploration, neither a person's correction nor something ingested?"""
        return not (self.because or self.episodes)


class Lease(Data):
    """Who writes to an instance now, and with which right: only the newest `fence` may commit."""

    fence: int = Field(description="Counts the leases of the instance; a commit under an older one is refused.")
    owner: str = Field(description="A random name of this one holder.")
    host: str = ""
    boot: str = Field(default="", description="Boot of that host and name space of its process ids.")
    pid: int = 0
    started: int = Field(default=0, description="When that process was started, in the host's own unit.")
    since: int = Field(default=0, description="Taken at, epoch milliseconds of the database's clock.")
    seen: int = Field(default=0, description="Last sign of life, epoch milliseconds of the database's clock.")


class InstanceRecord(Data):
    """An instance as stored."""

    id: str
    environment: str
    source: str
    source_hash: str
    naming: Naming = "folded"
    mode: Mode = "action"
    description: str = ""
    status: Literal["new", "exploring", "explored"] = "new"
    stopped_because: StopReason | None = None
    stopped_why: str = Field(default="", description="The planner's reason, or what was wrong.")
    steps_used: int = 0
    replayed: int = 0
    last_step: int = Field(default=0, description="Number of the newest step, explored or ingested.")
    applied_iteration: int = 0
    explored_iterations: int = Field(default=0, description="Those of them that are turns of the exploration.")
    idle: int = Field(default=0, description="Of these, how many in a row up to now brought nothing new.")
    schema_version: int = 0
    created_at: int = Field(default=0, description="Epoch milliseconds.")
    settings: dict[str, str] = Field(default_factory=dict, description="Planner, seed, rules ... of the exploration.")
    learned: dict[str, Revealed] = Field(default_factory=dict, description="Snapshot of other instances' templates.")
    closing_usage: dict[str, int] = Field(default_factory=dict, description="Of models, beyond the iterations'.")
    lease: Lease | None = Field(default=None, description="Who explores it at the moment.")


# --- identity -----------------------------------------------------------------------------------------


def normalise(name: str, naming: Naming = "folded") -> str:
    """The key by which two names are one entity: never fuzzy.

    `folded`: NFKC, trimmed, white space runs to one blank, case folded. `exact`: unchanged.
    """
    if naming == "exact":
        return name
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def entity_id(scope: str, name: str, *, value: bool = False, naming: Naming = "folded") -> str:
    """Id of an entity or value node: a hash, because index keys are limited to about 8 kB.

    A value keeps its exact spelling (`1,234 rows` is not `1,234 Rows`).
    """
    key = name if value else normalise(name, naming)
    return _digest(scope, "value" if value else "entity", key, size=16)


def fact_id(scope: str, triplet: Triplet, naming: Naming = "folded") -> str:
    """Id of a fact: its subject's id plus a hash of predicate and object, so that reads by id are anchored."""
    subject = entity_id(scope, triplet.subject, naming=naming)
    target = entity_id(scope, triplet.object, value=triplet.object_is_value, naming=naming)
    return fact_id_between(subject, triplet.predicate, target)


def fact_id_between(subject_id: str, predicate: str, object_id: str) -> str:
    """The same, where the ids of both ends are known."""
    return f"{subject_id}-{_digest(normalise(predicate), object_id, size=8)}"


def _digest(*parts: str, size: int) -> str:
    text = "\x1f".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
