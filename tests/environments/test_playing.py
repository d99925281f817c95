"""`Playing`: any object becomes one exact interface, and whatever goes wrong says where."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from autocontext.environments.limits import time_limit
from autocontext.environments.playing import Diverged, Playing
from autocontext.environments.snapshots import SnapshotCache
from autocontext.errors import EnvironmentHung, StepFailure, UsageError
from autocontext.types import Observation, StepResult
from tests.environments.toys import Fickle, ReplayedVault, Vault

PATH = ["go north", "take lamp", "go east", "go west", "drop lamp"]


class Scripted:
    """Returns or raises what it is given, step after step."""

    def __init__(self, *replies: Any, start: Any = "Begin.") -> None:
        self.replies, self.start = list(replies), start

    def reset(self) -> Any:
        return self._give(self.start)

    def step(self, action: str) -> Any:
        return self._give(self.replies.pop(0))

    def _give(self, reply: Any) -> Any:
        if isinstance(reply, BaseException):
            raise reply
        return reply() if callable(reply) else reply


def played(environment: Any, actions: list[str], **options: Any) -> tuple[Playing, list[Observation]]:
    playing = Playing(environment, **options)
    playing.reset()
    return playing, [playing.step(action).observation for action in actions]


def test_plain_text_and_observations_become_results() -> None:
    seen = Observation(text="There.", admissible=("look",))
    playing = Playing(Scripted("Here.", seen, StepResult(observation=seen, terminated=True)))
    assert playing.reset() == Observation(text="Begin.")
    assert playing.step("a") == StepResult(observation=Observation(text="Here."))
    assert playing.step("b").observation == seen
    assert playing.step("c").terminated
    assert playing.seconds > 0


def test_an_object_without_spec_is_named_after_its_class() -> None:
    assert Playing(Scripted()).spec.source.endswith("test_playing:Scripted")


@pytest.mark.parametrize(("thing", "says"), [(3, "no reset and no step"), (Scripted, "is a class"), (None, "no reset")])
def test_what_is_no_environment_is_refused(thing: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Playing(thing)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (None, r"step\('push'\) returned NoneType \(None\); expected a StepResult, an Observation or a str"),
        (("text", 0.0, False, {}), "returned tuple"),
        (b"bytes", "returned bytes"),
        (ValueError("boom"), r"step\('push'\) raised ValueError: boom"),
        (SystemExit(3), "raised SystemExit"),
        (NotImplementedError(), "is not implemented"),
    ],
)
def test_what_goes_wrong_in_a_step_is_a_step_failure(reply: Any, says: str) -> None:
    playing = Playing(Scripted(reply))
    playing.reset()
    with pytest.raises(StepFailure, match=says) as caught:
        playing.step("push")
    assert "Scripted" in str(caught.value)
    with pytest.raises(StepFailure, match="reset it"):
        playing.step("push")


def test_what_goes_wrong_in_a_reset_is_a_step_failure() -> None:
    with pytest.raises(StepFailure, match=r"reset\(\) returned int"):
        Playing(Scripted(start=3)).reset()


def test_an_interrupt_passes() -> None:
    playing = Playing(Scripted(KeyboardInterrupt()))
    playing.reset()
    with pytest.raises(KeyboardInterrupt):
        playing.step("push")


def test_text_that_no_database_takes_is_mended() -> None:
    playing = Playing(Scripted("a\ud800b", Observation(text="\udfff", admissible=("x\ud800",))))
    playing.reset()
    assert playing.step("x").observation.text == "a?b"
    assert playing.step("x").observation == Observation(text="?", admissible=("x?",))


def test_a_snapshot_saves_the_replay() -> None:
    playing, shown = played(Vault(), PATH)
    assert playing.goto(PATH[:2], shown[:2]) == 0
    assert playing.step("drop lamp").observation.text.endswith("A lamp lies here.")
    assert playing.goto(PATH, shown) == 0
    playing.cache.clear()
    assert playing.goto(PATH[:3], shown[:3]) == 3


def test_without_snapshots_paths_are_replayed_and_counted() -> None:
    playing, shown = played(ReplayedVault(), PATH)
    assert playing.goto(PATH, shown) == 0  # it is there already
    assert playing.goto(PATH[:4], shown[:4]) == 4
    assert playing.goto(PATH, shown) == 1  # goes on from there


def test_recorded_paths_are_found_again_by_a_new_process() -> None:
    _, shown = played(Vault(), PATH)
    fresh = Playing(Vault())
    assert fresh.goto(PATH, shown, start=Vault().reset()) == len(PATH)


def test_a_divergence_tells_where() -> None:
    playing, shown = played(Fickle(changes_at_reset=2), PATH)
    with pytest.raises(Diverged) as caught:
        playing.goto(PATH[:4], shown[:4])
    assert caught.value.index == 0
    assert caught.value.recorded == shown[0]
    with pytest.raises(StepFailure, match="reset it"):
        playing.step("go north")


def test_a_start_that_differs_is_a_divergence() -> None:
    playing = Playing(Vault())
    with pytest.raises(Diverged) as caught:
        playing.goto([], [], start=Observation(text="Another place."))
    assert caught.value.index == -1


def test_an_environment_may_say_that_two_observations_are_the_same() -> None:
    class Dated(ReplayedVault):
        resets = 0

        def reset(self) -> Observation:
            self.resets += 1
            return super().reset().model_copy(update={"text": f"Day {self.resets}"})

        def same(self, recorded: Observation, replayed: Observation) -> bool:
            return recorded.text[:3] == replayed.text[:3] == "Day"

    playing, shown = played(Dated(), PATH)
    assert playing.goto(PATH[:1], shown[:1]) == 1


def test_every_node_is_reached_under_a_tight_memory_limit() -> None:
    class Heavy(Vault):
        def snapshot(self) -> Any:
            return HeavySnapshot(super().snapshot())

        def restore(self, snapshot: Any) -> None:
            super().restore(snapshot.state)

    class HeavySnapshot:
        size = 1000

        def __init__(self, state: Any) -> None:
            self.state = state

    path = ["go north", "go east", "go west", "go south"] * 10
    playing, shown = played(Heavy(), path, snapshot_bytes=5000)
    assert playing.cache.bytes <= 5000
    for depth in (3, 39, 11, 40, 0, 25):
        replayed = playing.goto(path[:depth], shown[:depth])
        assert 0 <= replayed <= depth
        assert playing.cache.bytes <= 5000
    assert () in playing.cache


def test_the_cache_drops_what_saves_least_first() -> None:
    cache = SnapshotCache(3 * 64 * 1024)
    cache.put((), object())
    cache.put(("a",), object())
    cache.put(("a", "b", "c", "d"), object())
    cache.put(("e", "f", "g", "h", "i"), object())
    assert () in cache
    assert ("a",) not in cache
    found = cache.deepest(["a", "b"])
    assert found is not None
    assert found[0] == 0
    cache.put(("x",), "text" * 10**6)  # larger than the limit: not kept
    assert ("x",) not in cache
    assert cache.bytes <= cache.limit_bytes


def test_a_hanging_step_is_interrupted() -> None:
    playing = Playing(Scripted(lambda: time.sleep(30)), step_seconds=0.2)
    playing.reset()
    with pytest.raises(EnvironmentHung, match=r"step\('wait'\) took longer than 0.2 s"):
        playing.step("wait")


def test_an_environment_that_swallows_the_alarm_has_hung_all_the_same() -> None:
    def stubborn() -> str:
        try:
            time.sleep(30)
        except Exception:
            return "fine"
        return "late"

    playing = Playing(Scripted(stubborn), step_seconds=0.2)
    playing.reset()
    with pytest.raises(EnvironmentHung):
        playing.step("wait")


def test_off_the_main_thread_there_is_no_limit() -> None:
    results: list[str] = []

    def work() -> None:
        with time_limit(0.05, "work"):
            time.sleep(0.2)
        results.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == ["done"]


def test_closing_drops_the_snapshots_and_closes_once_each() -> None:
    playing, _ = played(Vault(), PATH)
    playing.close()
    assert len(playing.cache) == 0
    assert playing.environment.closed == 1
    playing.close()
