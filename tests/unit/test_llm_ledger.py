"""What models used and failed at: counted once, handed over once, limits over all runs."""

from __future__ import annotations

from autocontext.errors import ReplyUnusable
from autocontext.llm.ledger import Ledger, Used
from autocontext.llm.prices import Price

CHEAP, DEAR = Price(input=1.0, output=2.0), Price(input=10.0, output=20.0)


def test_what_was_taken_is_not_given_again() -> None:
    ledger = Ledger()
    ledger.count("planner", Used(input_tokens=10, output_tokens=5), CHEAP)
    ledger.count("planner", Used(input_tokens=1, output_tokens=2, measured=False), CHEAP)
    ledger.failed("planner", ReplyUnusable("x" * 1000, reply="y" * 1000))
    usage, [failure] = ledger.take()
    assert usage == {
        "planner.calls": 2,
        "planner.input_tokens": 11,
        "planner.microusd": 25,
        "planner.output_tokens": 7,
        "planner.unmeasured": 1,
    }
    assert (failure.role, failure.what, failure.reply) == ("planner", "x" * 300, "y" * 500)
    assert ledger.take() == ({}, ())
    assert ledger.tokens == 18
    assert ledger.run == usage


def test_a_continued_run_counts_on() -> None:
    ledger = Ledger()
    ledger.begin([{"planner.calls": 3, "planner.input_tokens": 100, "planner.microusd": 500_000}, {}])
    assert (ledger.tokens, ledger.cost) == (100, 0.5)
    ledger.count("extractor", Used(input_tokens=10, output_tokens=5), CHEAP)
    assert ledger.tokens == 115
    assert ledger.take()[0]["extractor.calls"] == 1
    assert "planner.calls" not in ledger.run


def test_two_models_may_share_one() -> None:
    ledger = Ledger()
    ledger.count("planner", Used(input_tokens=1_000_000, output_tokens=0), CHEAP)
    ledger.count("extractor", Used(input_tokens=0, output_tokens=1_000_000), DEAR)
    assert ledger.cost == 21.0


def test_a_cost_that_is_not_known_is_not_zero() -> None:
    ledger = Ledger()
    ledger.count("planner", Used(input_tokens=10, output_tokens=5), CHEAP)
    ledger.count("extractor", Used(input_tokens=10, output_tokens=5), None)
    assert ledger.cost is None


def test_usage_out_of_a_recording_counts_with_its_cost_if_that_was_known() -> None:
    ledger = Ledger()
    ledger.add({"planner.calls": 1, "planner.input_tokens": 10, "planner.microusd": 30})
    assert (ledger.tokens, ledger.cost) == (10, 0.00003)
    ledger.add({"planner.calls": 1, "planner.input_tokens": 10})
    assert (ledger.tokens, ledger.cost) == (20, None)


def test_iterations_in_a_row_in_which_nothing_came_of_it() -> None:
    ledger, failure = Ledger(), ReplyUnusable("nothing")
    for _ in range(2):
        ledger.failed("planner", failure)
        ledger.take()
    assert ledger.failing == 2
    ledger.take()  # nothing was asked: says nothing
    assert ledger.failing == 2
    ledger.count("planner", Used(input_tokens=1, output_tokens=1), None)
    ledger.failed("key_results", failure)  # can do without
    ledger.take()
    assert (ledger.failing, ledger.failures) == (0, 3)


def test_a_reply_that_cannot_be_stored_as_it_is() -> None:
    ledger = Ledger()
    ledger.failed("planner", ReplyUnusable("what \ud83d", reply="said \ud83d"))
    _, [failure] = ledger.take()
    assert failure.what.encode()
    assert failure.reply.encode()
