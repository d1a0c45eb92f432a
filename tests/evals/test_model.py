"""The Messages API over HTTP: what is tried again, what is given up, what is charged."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_messages_api import (
    Answer,
    BreakOff,
    Fail,
    FakeApi,
    Say,
    TornInput,
    fake_api,
    in_turn,
    text,
    tool_use,
)

from gpuvet_evals.asking import Reply, ToolUse, Usage
from gpuvet_evals.errors import BudgetSpent, ModelFailed, ModelUnavailable
from gpuvet_evals.model import LiveModel
from gpuvet_evals.spending import Budget, Metered, Price

ASKED = {"model": "model-1", "max_tokens": 100, "messages": [{"role": "user", "content": "Why?"}]}
DONE = Say([text("Because.")])


def ask(*answers: Answer) -> tuple[Reply, list[float], int]:
    """Return the reply, the seconds waited before each further attempt, and the requests made."""
    waited: list[float] = []
    with fake_api(in_turn(*answers)) as api, listening(api, waited.append) as model:
        return model.ask(ASKED), waited, len(api.requests)


def listening(api: FakeApi, sleep: Callable[[float], None] = lambda _: None) -> LiveModel:
    return LiveModel(api_key="test", base_url=api.url, sleep=sleep)


def test_a_streamed_message_comes_back_whole() -> None:
    use = tool_use("use_aws", {"service_name": "fsx", "parameters": {"MaxResults": 5}})

    reply, waited, _ = ask(Say([text("Let me look."), use], stop_reason="tool_use"))

    assert reply.text == "Let me look."
    assert reply.tool_uses == (
        ToolUse(
            id="toolu_1",
            name="use_aws",
            input={"service_name": "fsx", "parameters": {"MaxResults": 5}},
        ),
    )
    assert (reply.stop_reason, reply.usage) == (
        "tool_use",
        Usage(input_tokens=100, output_tokens=20),
    )
    assert waited == []


@pytest.mark.parametrize(
    ("failure", "waited"),
    [
        pytest.param(Fail(429, "rate_limit_error"), [1.0], id="a rate limit"),
        pytest.param(
            Fail(429, "rate_limit_error", {"retry-after": "17"}), [17.0], id="one that says when"
        ),
        pytest.param(
            Fail(429, "rate_limit_error", {"retry-after": "86400"}), [120.0], id="not for a day"
        ),
        pytest.param(
            Fail(429, "rate_limit_error", {"retry-after": "soon"}), [1.0], id="not a number"
        ),
        pytest.param(Fail(529, "overloaded_error"), [1.0], id="overload"),
        pytest.param(Fail(500, "api_error"), [1.0], id="a fault of the service"),
        pytest.param(BreakOff("overloaded_error"), [1.0], id="overload inside a stream"),
        pytest.param(BreakOff(), [1.0], id="a stream that ends early"),
        pytest.param(BreakOff(tears_length=True), [1.0], id="a connection that breaks"),
        pytest.param(TornInput(), [1.0], id="a tool input that is no JSON"),
    ],
)
def test_what_may_pass_is_tried_again(failure: Answer, waited: list[float]) -> None:
    reply, slept, requests = ask(failure, DONE)

    assert (reply.text, slept, requests) == ("Because.", waited, 2)


def test_each_wait_is_twice_the_last() -> None:
    overload = Fail(529, "overloaded_error")

    _, waited, _ = ask(overload, overload, overload, overload, overload, DONE)

    assert waited == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_after_six_attempts_the_request_has_failed() -> None:
    with pytest.raises(ModelFailed, match=r"529 overloaded_error.*given up after 6 attempts"):
        ask(Fail(529, "overloaded_error"))


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        pytest.param(Fail(400, "invalid_request_error"), ModelFailed, id="a request it refuses"),
        pytest.param(Fail(413, "request_too_large"), ModelFailed, id="one that is too large"),
        pytest.param(BreakOff("invalid_request_error"), ModelFailed, id="refused in the stream"),
        pytest.param(Fail(401, "authentication_error"), ModelUnavailable, id="a key it refuses"),
        pytest.param(Fail(403, "permission_error"), ModelUnavailable, id="a model it refuses"),
    ],
)
def test_what_would_fail_again_is_not_tried_again(failure: Answer, error: type[Exception]) -> None:
    waited: list[float] = []
    with (
        fake_api(in_turn(failure)) as api,
        listening(api, waited.append) as model,
        pytest.raises(error),
    ):
        model.ask(ASKED)

    assert (waited, len(api.requests)) == ([], 1)


def test_nobody_listening_is_no_answer() -> None:
    with fake_api(in_turn(DONE)) as api:
        url = api.url
    deaf = LiveModel(api_key="test", base_url=url, attempts=2, sleep=lambda _: None)

    with deaf as model, pytest.raises(ModelFailed, match="no connection to the API"):
        model.ask(ASKED)


def test_without_a_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))

    with pytest.raises(ModelUnavailable, match="no key: set ANTHROPIC_API_KEY"):
        LiveModel()


def test_without_the_sdk_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)

    with pytest.raises(ModelUnavailable, match=r"pip install 'gpuvet\[evals\]'"):
        LiveModel(api_key="test")


def test_a_budget_of_tokens_stops_the_next_request() -> None:
    budget = Budget(tokens=200)
    with fake_api(in_turn(DONE)) as api, listening(api) as live:
        model = Metered(live, budget)
        model.ask(ASKED)
        model.ask(ASKED)
        with pytest.raises(BudgetSpent, match="240 of 200 tokens"):
            model.ask(ASKED)

    assert (len(api.requests), budget.spent.total, budget.dollars) == (2, 240, None)


def test_dollars_follow_from_the_users_prices_alone() -> None:
    price = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
    budget = Budget(dollars=0.001, prices={"model-1": price})
    budget.charge(
        "model-1",
        Usage(input_tokens=100, output_tokens=20, cache_read_tokens=1000, cache_write_tokens=100),
    )

    assert budget.dollars == pytest.approx(0.0003 + 0.0003 + 0.0003 + 0.000375)
    with pytest.raises(BudgetSpent):
        budget.check("model-1")
