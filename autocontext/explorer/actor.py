"""Carries out a path: restores its start, executes the actions, makes todos of them."""

from __future__ import annotations

from autocontext.environments.playing import Diverged, Playing
from autocontext.explorer.forest import Forest
from autocontext.types import Outcome, Path, Step, Todo


class ActionActor:
    """Action mode: every action of the path is one todo of one step."""

    def __init__(self, playing: Playing) -> None:
        self.playing = playing

    def run(self, path: Path, forest: Forest) -> list[Todo]:
        """Execute the path's actions one by one; stop where one is refused or ends the episode.

        A replay that shows something else than was recorded marks the node as diverged and returns nothing.

        Raises:
            StepFailure: the environment raised.
            EnvironmentHung: it did not answer in time.
        """
        node = forest.nodes[path.start]
        recorded = [step.observation for step in node.path]
        try:
            forest.replayed += self.playing.goto(forest.actions_to(node.id), recorded[1:], start=recorded[0])
        except Diverged as divergence:
            forest.mark_diverged_at(node.id, divergence)
            return []
        todos, parent = [], path.start
        for action in path.actions:
            result = self.playing.step(action)
            refused = result.refused or forest.reader.refused(result.observation)
            step = Step(
                number=forest.last_step + 1,
                action=action,
                observation=result.observation,
                terminated=result.terminated,
                refused=refused,
            )
            todo = Todo(
                id=forest.next_todo_id(),
                parent=parent,
                text=action,
                outcome=_outcome(refused, result.terminated),
                strategy=path.strategy,
                iteration=forest.iterations + 1,
                steps=(step,),
            )
            forest.add_todo(todo)
            todos.append(todo)
            parent = todo.id
            if result.terminated or refused:
                break
        return todos


def _outcome(refused: bool, terminated: bool) -> Outcome:
    if terminated:
        return "terminated"
    return "refused" if refused else "done"
