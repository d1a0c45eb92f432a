"""What may be spent on a model: tokens, and dollars where the user gave a price file.

No price is built in: prices change, and a wrong one is worse than none.
"""

import json
import threading
from collections.abc import Mapping
from pathlib import Path

from gpuvet.errors import UsageError
from gpuvet.model.base import Value
from gpuvet_evals.asking import Asks, Reply, Request, Usage
from gpuvet_evals.errors import BudgetSpent
from gpuvet_evals.journal import mapping

_PER = 1_000_000  # prices are per million tokens
_KINDS = ("input", "output", "cache_read", "cache_write")


class Price(Value):
    """Dollars per million tokens of one model."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, usage: Usage) -> float:
        """Return what the tokens cost, in dollars."""
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        ) / _PER


def read_prices(path: Path) -> dict[str, Price]:
    """Read a price file: model → {input, output, cache_read?, cache_write?}, dollars per million.

    A missing cache price is that of input.

    Raises:
        UsageError: It cannot be read, or a price is no number of zero or more.
    """
    try:
        entries = mapping(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"no prices at {str(path)!r}: {error}") from error
    prices = {name: _price(name, mapping(entry)) for name, entry in entries.items()}
    if not prices:
        raise UsageError(f"{str(path)!r} holds no prices; give model: input, output per million")
    return prices


def _price(name: str, entry: Mapping[str, object]) -> Price:
    values: dict[str, float] = {}
    for kind in _KINDS:
        value = entry.get(kind, entry.get("input") if kind.startswith("cache") else None)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise UsageError(
                f"the price of {name!r} has {kind} {value!r}; give dollars per million tokens"
            )
        values[kind] = float(value)
    return Price(**values)


class Budget:
    """What is spent and what may be; safe to share between threads.

    A request in flight when the limit is reached is still paid: the overshoot is at most one
    reply a worker.
    """

    def __init__(
        self,
        *,
        tokens: int | None = None,
        dollars: float | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        if dollars is not None and not prices:
            raise UsageError(
                "a limit in dollars needs --prices FILE; without one give --max-tokens"
            )
        self._tokens, self._dollars, self._prices = tokens, dollars, prices or {}
        self._spent: dict[str, Usage] = {}
        self._lock = threading.Lock()

    @property
    def spent(self) -> Usage:
        """All tokens so far."""
        with self._lock:
            return _sum(self._spent)

    @property
    def dollars(self) -> float | None:
        """What they cost; None where a model of them has no price."""
        with self._lock:
            if not self._prices or set(self._spent) - set(self._prices):
                return None
            return sum(self._prices[name].of(usage) for name, usage in self._spent.items())

    def charge(self, model: str, usage: Usage) -> None:
        """Add what a reply cost."""
        with self._lock:
            self._spent[model] = self._spent.get(model, Usage()).plus(usage)

    def check(self, model: str) -> None:
        """Refuse to spend on.

        Raises:
            BudgetSpent: A limit is reached.
            UsageError: Dollars are limited and the model has no price.
        """
        if self._tokens is not None and (used := self.spent.total) >= self._tokens:
            raise BudgetSpent(f"{used:,} of {self._tokens:,} tokens are spent; raise --max-tokens")
        if self._dollars is None:
            return
        if model not in self._prices:
            raise UsageError(f"the price file has no {model!r}; it has {', '.join(self._prices)}")
        cost = self.dollars
        if cost is not None and cost >= self._dollars:
            raise BudgetSpent(
                f"{cost:.2f} of {self._dollars:.2f} dollars are spent; raise --max-dollars"
            )


class Metered:
    """Asks within a budget; see `Asks`."""

    def __init__(self, model: Asks, budget: Budget) -> None:
        self._model, self._budget = model, budget

    def ask(self, request: Request) -> Reply:
        """Return the reply, charged; see `Asks.ask`."""
        name = str(request.get("model"))
        self._budget.check(name)
        reply = self._model.ask(request)
        self._budget.charge(name, reply.usage)
        return reply


def _sum(spent: Mapping[str, Usage]) -> Usage:
    total = Usage()
    for usage in spent.values():
        total = total.plus(usage)
    return total
