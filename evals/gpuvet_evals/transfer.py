"""Files in and out: import of suites and older layouts, redaction of a folder and the way back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from gpuvet.model.base import Value
from gpuvet.parse.untrusted import mask
from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.evals_json import EvalSet
from gpuvet_evals.json_text import write_json
from gpuvet_evals.locate import JOURNAL_NAME, evals_beside
from gpuvet_evals.older import TRIGGER_NAME, old_report, read_old_runs, read_old_triggers
from gpuvet_evals.redact import RedactedFile, Redactor, read_map
from gpuvet_evals.suite import RESULTS_NAME, lay_out

MAX_TEXT_BYTES = 64 * 1024 * 1024
_TEXT_ENDINGS = frozenset({".json", ".md", ".html", ".txt", ".yaml", ".yml", ".log", ".csv"})


class Imported(Value):
    """What an import brought."""

    runs: int
    kind: str  # journals or flat layout
    triggers: int = 0
    missing: tuple[str, ...] = ()  # cases without a journal


def import_suite(
    source: Path, version_folder: Path, *, evals: EvalSet | None, evals_text: bytes | None
) -> Imported:
    """Bring a suite of journals, or an older flat layout, into a version's folder.

    Raises:
        UnreadableTree: There are neither journals nor an older report.
    """
    if _has_journals(source):
        known = evals or evals_beside(source)
        laid = lay_out(source, version_folder, known)
        _copy_evals(source, version_folder, evals_text)
        return Imported(runs=laid.journals, kind="journals", missing=laid.missing)
    report = old_report(source)
    runs = read_old_runs(report, version_folder.name)
    for run in runs:
        folder = version_folder / f"iteration-{run.iteration}" / run.eval_id / run.side
        write_json(folder / RESULTS_NAME, json.loads(run.results_json))
        if run.answer:
            outputs = folder / "outputs"
            outputs.mkdir(exist_ok=True)
            (outputs / "answer.md").write_text(run.answer, encoding="utf-8", newline="\n")
    triggers = read_old_triggers(report.parent / TRIGGER_NAME)
    _copy_evals(report, version_folder, evals_text)
    return Imported(runs=len(runs), kind="flat layout", triggers=len(triggers))


def redact_folder(source: Path, target: Path, map_path: Path) -> tuple[RedactedFile, ...]:
    """Write a copy of a file or folder with identifiers replaced, and the map to undo it.

    Raises:
        UnreadableTree: The target lies in the source, a file is too large, or a stand-in of the
            map stands in a file itself, so that the way back would be ambiguous.
    """
    redactor = read_map(map_path.read_text(encoding="utf-8")) if map_path.is_file() else Redactor()
    files = list(_texts(source, target))
    for path, text in files:
        if clash := redactor.reserve(text):
            raise UnreadableTree(
                f"{path.name} itself holds {clash[0]!r}, a stand-in of {map_path.name}; "
                "use a new map"
            )
    proved = [account for _, text in files for account in redactor.accounts(text)]
    done: list[RedactedFile] = []
    for path, text in files:
        redacted = redactor.redact(_masked_text(path, text), proved=proved)
        _write(path, source, target, redacted)
        count = sum(text.count(original) for original in redactor.known)
        done.append(RedactedFile(name=path.name, replaced=count))
    write_json(map_path, redactor.to_json())
    return tuple(done)


def restore_folder(source: Path, target: Path, map_path: Path) -> int:
    """Write a copy with the originals put back; secrets stay masked. Return how many files.

    Raises:
        UnreadableTree: There is no map.
    """
    if not map_path.is_file():
        raise UnreadableTree(f"no map at {str(map_path)!r}; it was written where `redact` ran")
    redactor = read_map(map_path.read_text(encoding="utf-8"))
    files = list(_texts(source, target))
    for path, text in files:
        _write(path, source, target, redactor.restore(text))
    return len(files)


def _has_journals(source: Path) -> bool:
    if source.name in {"suite.json", JOURNAL_NAME}:
        return True
    return source.is_dir() and (
        (source / "suite.json").is_file() or next(source.rglob(JOURNAL_NAME), None) is not None
    )


def _copy_evals(source: Path, version_folder: Path, text: bytes | None) -> None:
    """Copy the definitions that were run, as they are."""
    folder = source if source.is_dir() else source.parent
    for candidate in (folder / "evals.json", folder.parent / "evals.json"):
        if text is None and candidate.is_file():
            text = candidate.read_bytes()
    if text is not None:
        version_folder.mkdir(parents=True, exist_ok=True)
        (version_folder / "evals.json").write_bytes(text)


def _texts(source: Path, target: Path) -> Iterator[tuple[Path, str]]:
    if source.is_dir() and target.resolve().is_relative_to(source.resolve()):
        raise UnreadableTree(f"the target {str(target)!r} lies in the source; choose another")
    paths = sorted(source.rglob("*")) if source.is_dir() else [source]
    for path in paths:
        if not path.is_file() or path.suffix.lower() not in _TEXT_ENDINGS:
            continue
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise UnreadableTree(f"{str(path)!r} is larger than {MAX_TEXT_BYTES} bytes")
        yield path, path.read_bytes().decode("utf-8", "surrogateescape")


def _write(path: Path, source: Path, target: Path, text: str) -> None:
    to = target / path.relative_to(source) if source.is_dir() else target
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")


def _masked_text(path: Path, text: str) -> str:
    """Return a text with its secrets masked; JSON stays JSON, if need be string by string."""
    masked = mask(text)
    if path.suffix != ".json" or _is_json(masked) or not _is_json(text):
        return masked
    return json.dumps(_masked(json.loads(text)), indent=2) + "\n"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _masked(value: object) -> object:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [_masked(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in cast("dict[str, object]", value).items()}
    return value
