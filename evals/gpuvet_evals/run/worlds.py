"""worlds.json: which recorded case an eval is played over, and what of it is taken away.

The same fault with its evidence missing is the same case under a written blinding, so that the
two worlds differ by nothing else. A blinded world is written out once and then read like any case.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gpuvet.aws.timestamps import as_datetime
from gpuvet.model.base import Value
from gpuvet_evals.errors import UnreadableEvals
from gpuvet_evals.evals_json import strings
from gpuvet_evals.journal import mapping, mappings

WORLDS_NAME = "worlds.json"
FORMAT = "gpuvet-worlds/1"
_KEYS = frozenset({"case", "note", "without"})
_BLINDINGS = frozenset({"operations", "streams", "silent_from", "metrics", "files"})


class Blinding(Value):
    """What is taken out of a case; patterns are of file names (`*`, `?`)."""

    operations: tuple[str, ...] = ()  # answered with AccessDenied
    streams: tuple[str, ...] = ()  # log streams that do not exist
    silent_from: tuple[tuple[str, str], ...] = ()  # streams that stop arriving, and when
    metrics: tuple[str, ...] = ()  # metrics without a data point
    files: tuple[str, ...] = ()  # files of a folder that nobody has


class WorldPlan(Value):
    """The world of one eval."""

    case: Path | None  # None: an eval without a recorded account
    note: str = ""
    without: Blinding = Blinding()


def read_worlds(path: Path) -> dict[str, WorldPlan]:
    """Return the world of each eval; cases are named relative to the file.

    Raises:
        UnreadableEvals: It cannot be understood, or a case is not there.
    """
    try:
        document = mapping(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableEvals(f"no worlds at {str(path)!r}: {error}") from error
    if document.get("format") != FORMAT:
        raise UnreadableEvals(f"{str(path)!r} is not of the format {FORMAT!r}")
    entries = mapping(document.get("worlds"))
    return {name: _plan(path.parent, name, mapping(entry)) for name, entry in entries.items()}


def write_world(plan: WorldPlan, folder: Path) -> Path:
    """Write the world out and return the case's path: a scenario file, or a folder of files.

    Raises:
        UnreadableEvals: A blinding names nothing the case has.
    """
    if plan.case is None:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if plan.case.is_dir():
        return _write_folder(plan, folder)
    document = json.loads(plan.case.read_bytes())
    target = folder / "world.json"
    folder.mkdir(parents=True, exist_ok=True)
    blinded = blind_scenario(document, plan.without)
    target.write_text(json.dumps(blinded), encoding="utf-8", newline="\n")
    return target


def blind_scenario(document: Mapping[str, Any], without: Blinding) -> dict[str, Any]:
    """Return a scenario with less in it; what it expects of an answer is left out as well."""
    kept = {k: v for k, v in document.items() if k not in {"expected", "insights", "title"}}
    calls = [c for c in mappings(kept.get("calls")) if _name(c) not in without.operations]
    kept["calls"] = [*calls, *map(_denied, without.operations)]
    kept["metric_store"] = [
        series
        for series in mappings(kept.get("metric_store"))
        if not _matches(str(series.get("metric")), without.metrics)
    ]
    kept["log_store"] = {
        name: {**mapping(group), "streams": dict(_streams(mapping(group), without))}
        for name, group in mapping(kept.get("log_store")).items()
    }
    return kept


def _streams(group: Mapping[str, Any], without: Blinding) -> Iterator[tuple[str, Any]]:
    for name, stream in mapping(group.get("streams")).items():
        if _matches(name, without.streams):
            continue
        ends = [end for pattern, end in without.silent_from if fnmatchcase(name, pattern)]
        yield name, _silenced(mapping(stream), min(ends)) if ends else stream


def _silenced(stream: Mapping[str, Any], end: str) -> dict[str, Any]:
    """Return a stream none of whose lines of a moment or later arrived."""
    ended_at = as_datetime(end)
    shown: dict[str, Any] = dict(stream)
    for name in ("hours", "kernel_hours"):
        hours = mapping(stream.get(name))
        shown[name] = {hour: lines for hour, lines in hours.items() if hour < end}
    events = mappings(stream.get("events"))
    shown["events"] = [e for e in events if _is_before(e.get("timestamp"), ended_at)]
    return shown


def _is_before(written: object, end: datetime | None) -> bool:
    """Whether a time, ISO 8601 or epoch milliseconds, lies before the end."""
    at = as_datetime(written / 1000 if isinstance(written, int) else written)
    return at is not None and end is not None and at < end


def _denied(operation: str) -> dict[str, Any]:
    service, _, name = operation.partition(":")
    message = f"User is not authorized to perform: {operation}"
    error = {"Code": "AccessDeniedException", "Message": message, "HTTPStatusCode": 403}
    return {"service": service, "operation": name, "params": {}, "error": error}


def _write_folder(plan: WorldPlan, folder: Path) -> Path:
    source = plan.case if plan.case is not None else folder
    inputs = source / "inputs" if (source / "inputs").is_dir() else source
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(inputs.iterdir()):
        if path.is_file() and not _matches(path.name, plan.without.files):
            shutil.copyfile(path, folder / path.name)
    return folder


def _plan(root: Path, name: str, entry: Mapping[str, Any]) -> WorldPlan:
    if unknown := set(entry) - _KEYS:
        raise UnreadableEvals(f"world {name!r} has {', '.join(sorted(unknown))}; nobody reads that")
    case = entry.get("case")
    path = root / case if isinstance(case, str) else None
    if path is not None and not path.exists():
        raise UnreadableEvals(f"world {name!r} names the case {case!r}, which is not there")
    without = mapping(entry.get("without"))
    if unknown := set(without) - _BLINDINGS:
        raise UnreadableEvals(f"world {name!r} blinds {', '.join(sorted(unknown))}; unknown")
    return WorldPlan(
        case=path.resolve() if path else None,
        note=str(entry.get("note") or ""),
        without=Blinding(
            operations=strings(without.get("operations")),
            streams=strings(without.get("streams")),
            silent_from=tuple(
                (stream, str(end)) for stream, end in mapping(without.get("silent_from")).items()
            ),
            metrics=strings(without.get("metrics")),
            files=strings(without.get("files")),
        ),
    )


def _name(call: Mapping[str, Any]) -> str:
    return f"{call.get('service')}:{call.get('operation')}"


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
