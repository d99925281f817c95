"""Puts the parts of the loop together, as the options say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autocontext.environments.base import Environment, Suggesting
from autocontext.explorer.extractor.model import ModelExtractor
from autocontext.explorer.extractor.rules import RuleExtractor
from autocontext.explorer.fallback import FallbackPlanner
from autocontext.explorer.key_results.model import ModelKeyResults
from autocontext.explorer.key_results.plain import PlainKeyResults
from autocontext.explorer.models import Models
from autocontext.explorer.options import Options
from autocontext.explorer.planner.frontier import Candidates
from autocontext.explorer.planner.model import ModelPlanner
from autocontext.explorer.planner.random_walk import RandomPlanner
from autocontext.explorer.planner.systematic import SystematicPlanner
from autocontext.explorer.promoter.model import ModelPromoter
from autocontext.explorer.promoter.place import PlacePromoter
from autocontext.explorer.protocols import Extractor, KeyResults, Planner, Promoter
from autocontext.types import Revealed, Spec, Step


@dataclass(frozen=True)
class Parts:
    """What the loop is run with, beside actor, stop and store."""

    planner: Planner
    key_results: KeyResults
    extractor: Extractor
    promoter: Promoter


def assemble(
    env: Environment,
    spec: Spec,
    options: Options,
    models: Models,
    *,
    steps: int,
    learned: Mapping[str, Revealed],
    say: Callable[[str], None],
) -> Parts:
    """The parts for one run.

    Args:
        options: resolved ones.
        steps: budget of the whole exploration.
        learned: what classes of actions revealed elsewhere.
        say: is told when a fallback has to do what a model could not.
    """
    rules = RuleExtractor(options.without_rules)
    places = PlacePromoter()
    return Parts(
        planner=_planner(env, spec, options, models, steps, learned, say),
        key_results=ModelKeyResults(models.main) if options.key_results == "model" else PlainKeyResults(),
        extractor=(
            ModelExtractor(
                models.extractor,
                prompt_tokens=options.prompt_tokens,
                fallback=rules if options.fallback else None,
            )
            if options.extractor == "model"
            else rules
        ),
        promoter=(
            ModelPromoter(models.main, fallback=places if options.fallback else None)
            if options.promotion == "model"
            else places
        ),
    )


def _planner(
    env: Environment,
    spec: Spec,
    options: Options,
    models: Models,
    steps: int,
    learned: Mapping[str, Revealed],
    say: Callable[[str], None],
) -> Planner:
    candidates = _candidates(env)
    paths = options.paths or 1
    if options.planner == "random":
        return RandomPlanner(candidates, options.seed)
    systematic = SystematicPlanner(
        candidates,
        steps,
        prior=getattr(env, "prior", {}),
        learned=learned if options.learned else {},
        paths=1 if options.planner == "model" else paths,
    )
    if options.planner != "model":
        return systematic
    planner = ModelPlanner(
        models.main,
        spec,
        steps,
        strategies=options.strategies,
        paths=paths,
        prompt_tokens=options.prompt_tokens,
    )
    return FallbackPlanner(planner, systematic, say) if options.fallback else planner


def _candidates(env: Environment) -> Candidates:
    """Admissible actions where the environment lists them, else what it suggests from what was seen."""

    def candidates(path: Sequence[Step]) -> Sequence[str]:
        listed = path[-1].observation.admissible
        if listed is not None:
            return listed
        return list(env.suggest(path)) if isinstance(env, Suggesting) else ()

    return candidates
