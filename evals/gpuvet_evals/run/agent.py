"""One run: a model that uses tools until it answers, asks, refuses, or may spend no more."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from gpuvet_evals.asking import Asks, Reply, ToolUse
from gpuvet_evals.evals_json import Eval
from gpuvet_evals.run.plain_tools import ToolResult
from gpuvet_evals.run.sides import opening, request_of
from gpuvet_evals.run.turns import Result, Turn, TurnLog

Json = dict[str, Any]
Clock = Callable[[], datetime]
ASK = "ask_user"
_WHOLE = frozenset({"tool_use", "pause_turn", "end_turn", "stop_sequence"})  # not cut off


class Stop(StrEnum):
    """Why a run ended."""

    ANSWERED = "answered"
    ASKED_USER = "asked_user"
    REFUSED = "refused"
    CUT_OFF = "cut_off"  # the reply reached its own length, or the model's window was full
    SILENT = "silent"  # it stopped and said nothing
    TURN_BUDGET = "turn_budget"
    TOKEN_BUDGET = "token_budget"  # noqa: S105 - a reason, no secret


class Limits(NamedTuple):
    """What one run may use."""

    turns: int = 40
    tokens: int = 1_000_000


class Tools(Protocol):
    """What a side can call."""

    def definitions(self) -> Sequence[Json]:
        """Return the tools beside the plain ones, as the Messages API takes them."""
        ...

    def call(self, name: str, given: object) -> ToolResult:
        """Return what a tool says."""
        ...


def play(
    eval_: Eval,
    model: str,
    system: str,
    *,
    asks: Asks,
    tools: Tools,
    log: TurnLog,
    limits: Limits,
    clock: Clock,
) -> Stop:
    """Play a run to its end, going on where its log stops.

    Args:
        eval_: Which eval.
        model: Which model.
        system: The side's words.
        asks: Who answers.
        tools: The side's tools, fresh: what the log holds is called again to restore their state.
        log: The turns so far; each new one is on disk before the next.
        limits: Turns and tokens.
        clock: The edge's clock.

    Raises:
        ModelUnavailable, ModelFailed, BudgetSpent: Nothing more was said; the run can go on later.
    """
    messages = [opening(eval_)]
    for turn in log.turns:
        messages += _told(turn, _replayed(turn, tools))
    if log.turns and log.turns[-1].results is None and _calls_tools(log.turns[-1].reply):
        messages.append(_use_tools(log, tools, clock))
    while (stop := _stop(log, limits)) is None:
        reply = asks.ask(request_of(model, system, messages, tools.definitions()))
        log.replied(reply, clock())
        messages.append(_assistant(reply))
        if _calls_tools(reply):
            messages.append(_use_tools(log, tools, clock))
    return stop


def _replayed(turn: Turn, tools: Tools) -> tuple[Result, ...] | None:
    """Call again what a kept turn called: queries and throttles of the recording have a state."""
    if turn.results is not None:
        for use in turn.reply.tool_uses:
            tools.call(use.name, use.input)
    return turn.results


def _told(turn: Turn, results: tuple[Result, ...] | None) -> list[Json]:
    said = [_assistant(turn.reply)]
    return said if results is None else [*said, _user(results)]


def _use_tools(log: TurnLog, tools: Tools, clock: Clock) -> Json:
    results = tuple(_called(use, tools) for use in log.turns[-1].reply.tool_uses)
    log.answered(results, clock())
    return _user(results)


def _called(use: ToolUse, tools: Tools) -> Result:
    said = tools.call(use.name, use.input)
    return Result(tool_use_id=use.id, text=said.text, is_error=said.is_error)


def _stop(log: TurnLog, limits: Limits) -> Stop | None:
    """Return why the run is over, or None where it goes on."""
    if not log.turns:
        return None
    reply = log.turns[-1].reply
    if reply.stop_reason == "refusal":
        return Stop.REFUSED
    if reply.stop_reason in {"max_tokens", "model_context_window_exceeded"}:
        return Stop.CUT_OFF
    if any(use.name == ASK for use in reply.tool_uses):
        return Stop.ASKED_USER
    if not reply.tool_uses and reply.stop_reason != "pause_turn":
        return Stop.ANSWERED if reply.text else Stop.SILENT
    if len(log.turns) >= limits.turns:
        return Stop.TURN_BUDGET
    return Stop.TOKEN_BUDGET if log.usage.total >= limits.tokens else None


def _calls_tools(reply: Reply) -> bool:
    """Whether the reply's tools are to be called: none of them waits for the user."""
    if any(use.name == ASK for use in reply.tool_uses):
        return False
    return bool(reply.tool_uses) and reply.stop_reason in _WHOLE


def _assistant(reply: Reply) -> Json:
    """Return the reply as the next request repeats it; the API refuses nulls and empty texts."""
    content = [
        {name: value for name, value in block.items() if value is not None}
        for block in reply.content
        if block.get("type") != "text" or block.get("text")
    ]
    return {"role": "assistant", "content": content}


def _user(results: Sequence[Result]) -> Json:
    return {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": result.tool_use_id,
                "content": [{"type": "text", "text": result.text or "(nothing)"}],
                "is_error": result.is_error,
            }
            for result in results
        ],
    }
