"""Flight recorder dumps of ProcessGroupNCCL: JSON, or pickles read without unpickling. Pure.

A pickle is a program. Its opcodes are walked here and only those that make plain containers,
text and numbers are carried out; any that names, calls or builds something ends the reading.
"""

import json
import pickletools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeGuard

from gpuvet.model.network import FlightDump, FlightGroup
from gpuvet.model.untyped import is_array, is_object, object_at, objects_at, text_at, whole_at
from gpuvet.parse.json_layer import is_list
from gpuvet.parse.rank_tokens import file_tokens
from gpuvet.parse.untrusted import clean

# Ours: a dump of 20,000 entries with stacks has some 30 MB and 4 million opcodes.
MAX_BYTES = 64 * 2**20
MAX_OPCODES = 8_000_000
MAX_DEPTH = 32
MAX_VALUES = 8_000_000
_MOST_GROUPS = 10_000
_RANK_FILE = re.compile(r"(?:^|[_./-])(\d{1,7})(?:\.(?:pkl|pickle|json|bin))?$")


class NotPlain(ValueError):
    """The pickle does something else than hold plain values, or is larger than the bounds."""


class _Mark:
    """Where a run of stack items begins."""


_MARK = _Mark()
_Stack = list[Any]


def read_plain_pickle(data: bytes) -> object:
    """Return the plain value in a pickle: dicts, lists, tuples, text, bytes, numbers, None.

    Raises:
        NotPlain: It names a global, calls or builds an object, is cut, or is too large.
    """
    if len(data) > MAX_BYTES:
        raise NotPlain(f"the pickle has {len(data)} bytes; at most {MAX_BYTES} are read")
    walker = _Walker()
    try:
        for opcode, argument, _ in islice(pickletools.genops(data), MAX_OPCODES):
            if opcode.name == "STOP":
                return _checked(walker.result())
            walker.step(opcode.name, argument)
    except NotPlain:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, AttributeError) as error:
        raise NotPlain(f"the pickle is broken: {clean(str(error))}") from error
    raise NotPlain(f"the pickle ends without STOP, or has more than {MAX_OPCODES} opcodes")


class _Walker:
    """A stack machine for the harmless opcodes only."""

    def __init__(self) -> None:
        self.stack: _Stack = []
        self.memo: dict[int, Any] = {}
        self._steps: Mapping[str, Callable[[], None]] = {
            "MARK": lambda: self.stack.append(_MARK),
            "EMPTY_DICT": lambda: self.stack.append({}),
            "EMPTY_LIST": lambda: self.stack.append([]),
            "EMPTY_TUPLE": lambda: self.stack.append(()),
            "NONE": lambda: self.stack.append(None),
            "NEWTRUE": lambda: self.stack.append(True),
            "NEWFALSE": lambda: self.stack.append(False),
            "DICT": lambda: self.stack.append(_pairs(self._cut())),
            "LIST": lambda: self.stack.append(self._cut()),
            "TUPLE": lambda: self.stack.append(tuple(self._cut())),
            "TUPLE1": lambda: self._tuple(1),
            "TUPLE2": lambda: self._tuple(2),
            "TUPLE3": lambda: self._tuple(3),
            "APPEND": lambda: self._append([self.stack.pop()]),
            "APPENDS": lambda: self._append(self._cut()),
            "SETITEM": lambda: self._set([self.stack.pop(-2), self.stack.pop()]),
            "SETITEMS": lambda: self._set(self._cut()),
            "MEMOIZE": lambda: self.memo.__setitem__(len(self.memo), self.stack[-1]),
            "POP": self._pop,
        }

    def step(self, name: str, argument: object) -> None:
        """Carry out one opcode.

        Raises:
            NotPlain: It is none of those that make plain values.
        """
        if name in {"PROTO", "FRAME"}:
            return
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in _PUTS and isinstance(argument, int):
            self.memo[argument] = self.stack[-1]
        elif name in _GETS and isinstance(argument, int):
            self.stack.append(self.memo[argument])
        elif name in self._steps:
            self._steps[name]()
        else:
            raise NotPlain(f"refused: the pickle uses {name}, which is no plain value")

    def result(self) -> object:
        """Return the one value left."""
        if len(self.stack) != 1 or self.stack[0] is _MARK:
            raise NotPlain("the pickle does not end with one value")
        return self.stack[0]

    def _pop(self) -> None:
        self.stack.pop()

    def _cut(self) -> _Stack:
        for place in range(len(self.stack) - 1, -1, -1):
            if self.stack[place] is _MARK:
                items = self.stack[place + 1 :]
                del self.stack[place:]
                return items
        raise NotPlain("the pickle is broken: a run of items without its mark")

    def _tuple(self, size: int) -> None:
        items = tuple(self.stack[-size:])
        del self.stack[-size:]
        self.stack.append(items)

    def _append(self, items: _Stack) -> None:
        target: object = self.stack[-1]
        if not is_list(target):
            raise NotPlain("the pickle appends to something that is no list")
        target.extend(items)

    def _set(self, items: _Stack) -> None:
        target: object = self.stack[-1]
        if not _is_dict(target):
            raise NotPlain("the pickle sets items of something that is no dict")
        target.update(_pairs(items))


_LITERALS = frozenset(
    {
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE"),
        *("BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    }
)
_PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})


def _is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def _pairs(items: _Stack) -> dict[Any, Any]:
    if len(items) % 2:
        raise NotPlain("the pickle is broken: a key without its value")
    keys = items[::2]
    if not all(isinstance(key, str | int | float | bool | None) for key in keys):
        raise NotPlain("refused: a key of the pickle is neither text nor a number")
    return dict(zip(keys, items[1::2], strict=True))


def _checked(value: object) -> object:
    """Refuse values that refer to themselves, lie too deep, or repeat into too many."""
    stack: list[tuple[object, int]] = [(value, 0)]
    seen = 0
    while stack:
        one, depth = stack.pop()
        seen += 1
        if seen > MAX_VALUES or depth > MAX_DEPTH:
            raise NotPlain(f"the pickle is deeper than {MAX_DEPTH} or has over {MAX_VALUES} values")
        if is_object(one):
            stack.extend((inner, depth + 1) for inner in one.values())
        elif is_array(one):
            stack.extend((inner, depth + 1) for inner in one)
    return value


def is_flight_dump(document: object) -> bool:
    """Say whether a plain value is a dump: by what it holds, not by its file's name."""
    if not is_object(document):
        return False
    entries = objects_at(document, "entries")
    has_entries = any("collective_seq_id" in one or "profiling_name" in one for one in entries[:5])
    return bool(object_at(document, "pg_status")) or has_entries


def read_flight_dump(document: object, file: str) -> FlightDump | None:
    """Return a dump as values, or None where the document is none.

    Args:
        document: A parsed JSON document or the plain value of a pickle.
        file: Its name: the rank stands there where the dump does not carry it.
    """
    if not is_flight_dump(document):
        return None
    entries = objects_at(document, "entries")
    config, status = object_at(document, "pg_config"), object_at(document, "pg_status")
    names = dict.fromkeys((*config, *status, *(_group_of(one) for one in entries)))
    groups = (
        _group(name, object_at(config, name), object_at(status, name), entries)
        for name in list(names)[:_MOST_GROUPS]
    )
    rank = whole_at(document, "rank")
    return FlightDump(
        file=file,
        rank=rank if rank is not None else _rank_of_file(file),
        groups=tuple(groups),
        entries=len(entries),
    )


def parse_flight_dump(text: str, file: str) -> FlightDump | None:
    """Return a dump in JSON text as values, or None where it is none."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read_flight_dump(document, file)


def _rank_of_file(file: str) -> int | None:
    found = file_tokens(file).rank
    if found is not None:
        return found
    last = _RANK_FILE.search(file.rpartition("/")[2])
    return int(last[1]) if last else None


def _group_of(entry: Mapping[str, Any]) -> str:
    number = entry.get("pg_id")
    return str(number) if isinstance(number, int) else "0"


def _group(
    name: str,
    config: Mapping[str, Any],
    status: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
) -> FlightGroup:
    first = next(_open_entries(entries, name), None)
    return FlightGroup(
        group=name,
        name=clean(text_at(config, "desc") or text_at(config, "name") or "") or None,
        ranks=_ranks(config.get("ranks")),
        last_enqueued=_work(status, "last_enqueued_collective"),
        last_started=_work(status, "last_started_collective"),
        last_completed=_work(status, "last_completed_collective"),
        open_sequence=whole_at(first, "collective_seq_id"),
        open_operation=clean(text_at(first, "profiling_name") or "") or None,
        open_state=clean(text_at(first, "state") or "") or None,
    )


def _open_entries(entries: Sequence[Mapping[str, Any]], group: str) -> Iterator[Mapping[str, Any]]:
    mine = [one for one in entries if _group_of(one) == group and not one.get("is_p2p")]
    mine.sort(key=lambda one: whole_at(one, "collective_seq_id") or 0)
    yield from (one for one in mine if one.get("state") not in {"completed", None})


def _work(status: Mapping[str, Any], key: str) -> int | None:
    """Return a counter; -1 is a work that never was, written as text or as a number."""
    return -1 if status.get(key) in {-1, "-1"} else whole_at(status, key)


def _ranks(value: object) -> tuple[int, ...]:
    if isinstance(value, str):
        return tuple(int(one) for one in re.findall(r"\d{1,7}", value))
    if is_array(value):
        return tuple(one for one in value if isinstance(one, int) and not isinstance(one, bool))
    return ()
