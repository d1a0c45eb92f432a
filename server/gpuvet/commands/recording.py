"""`--record` and `--map` around a command: a tape before the door, a zip at the end."""

import argparse
import io
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from gpuvet import __version__
from gpuvet.aws.door import AwsDoor
from gpuvet.errors import BadWindow, UsageError
from gpuvet.model.evidence import EvidenceOf, Window, witnessed
from gpuvet.record.archive import Recording, check_writable, map_beside, write_recording
from gpuvet.record.heading import ANSWERED, Heading, Word
from gpuvet.record.local_map import read_map
from gpuvet.record.masking import cleaned_text
from gpuvet.record.spec_text import without_secrets
from gpuvet.record.tape import Tape

# What a command was given that changes its answer; a replay without them takes them from here.
_GIVEN: Mapping[str, type[str] | type[float] | type[int]] = MappingProxyType(
    {
        **dict.fromkeys(("since", "until", "failure_at", "start", "checkpoint_every"), str),
        **dict.fromkeys(("auto_resume", "currency", "spec_text", "spec_file"), str),
        **dict.fromkeys(("hours", "checkpoint_gib", "price_per_gpu_hour"), float),
        "nodes": int,
    }
)
_MOST_KEY = 4_096


class Taken(NamedTuple):
    """What a command records into."""

    tape: Tape
    path: Path
    key: bytes | None
    evidence: dict[str, EvidenceOf]

    def around(self, door: AwsDoor) -> AwsDoor:
        """Return a door whose answers are kept."""
        return self.tape.around(door)


def refuse_recording(args: argparse.Namespace, why: str) -> None:
    """Raise where a command cannot record what it is asked.

    Raises:
        UsageError: `--record` is given.
    """
    if getattr(args, "record", None) is not None:
        raise UsageError(f"--record keeps what one question reads of a live account; {why}")


def check_arguments(args: argparse.Namespace) -> None:
    """Find out before anything is asked whether recording and mapping can work.

    Raises:
        UsageError: They cannot.
    """
    record, other = getattr(args, "record", None), getattr(args, "map", None)
    if record is None and (getattr(args, "record_raw", False) or getattr(args, "record_key", None)):
        raise UsageError("--record-raw and --record-key say how to --record; name a zip with it")
    if other is not None and args.case is None:
        raise UsageError("--map belongs to the recording at --case; give that too")
    if record is None:
        return
    if args.case is not None:
        refuse_recording(args, "--case is recorded already")
    check_writable(Path(record))
    if not args.record_raw:
        _key(args)
        if map_beside(Path(record)).is_dir():
            raise UsageError(f"{map_beside(Path(record))} is a folder; the map is written there")


def _key(args: argparse.Namespace) -> bytes:
    if args.record_key is None:
        return os.urandom(32)
    try:
        with Path(args.record_key).open("rb") as file:
            key = file.read(_MOST_KEY)
    except OSError as error:
        raise UsageError(f"--record-key {args.record_key!r}: {error.strerror}") from error
    if len(key) < 16:
        raise UsageError(f"--record-key {args.record_key!r} holds fewer than 16 bytes")
    return key


@contextmanager
def taken(args: argparse.Namespace) -> Generator[Taken | None, None, None]:
    """Give what to record into, or None; write it at the end, however the command ends."""
    if getattr(args, "record", None) is None:
        yield None
        return
    _keep_spec(args)
    key = None if args.record_raw else _key(args)
    recorder = Taken(Tape(), Path(args.record), key, {})
    ended = "it did not end"
    try:
        with witnessed(recorder.evidence):
            yield recorder
        ended = ANSWERED
    except UsageError as error:
        ended = f"refused: {error}"
        raise
    except KeyboardInterrupt:
        ended = "interrupted"
        raise
    except Exception as error:
        ended = f"a bug of ours: {type(error).__name__}"
        raise
    finally:
        _write(args, recorder, ended)


def _write(args: argparse.Namespace, recorder: Taken, ended: str) -> None:
    heading: Heading | None = getattr(args, "heading", None)
    if heading is None:  # nobody was asked anything
        return
    readings = recorder.tape.readings
    lacking = sum(not one.answer.status.is_complete for one in readings)
    heading = heading.model_copy(update={"ended": ended, "incomplete": lacking})
    written = write_recording(
        Recording(heading, readings), recorder.path, evidence=recorder.evidence, key=recorder.key
    )
    note = f" ({lacking} not complete)" if lacking else ""
    told = f"recorded {written.readings} reads{note} in {written.path}"
    if written.map is not None:
        told += f"; {written.map} leads back to the originals: keep it to yourself"
    else:
        told += "; it names everything as the account does"
    sys.stderr.write(told + "\n")


def given_words(args: argparse.Namespace) -> tuple[tuple[str, Word], ...]:
    """Return what a command was given besides the nodes and the question."""
    found = ((name, getattr(args, name, None)) for name in _GIVEN)
    return tuple((name, _clean(value)) for name, value in found if value is not None)


def _clean(value: Word) -> Word:
    return cleaned_text(value) if isinstance(value, str) else value


def keep_heading(args: argparse.Namespace, now: datetime, **known: object) -> None:
    """Keep what a command asks for the head of its recording.

    Args:
        args: Of the command.
        now: The clock of the whole question.
        known: More fields of `Heading`.
    """
    values = {"gpuvet": __version__, "redacted": False, "given": given_words(args), "now": now}
    args.heading = Heading.model_validate(values | _times(args, now) | known)


def _times(args: argparse.Namespace, now: datetime) -> dict[str, object]:
    """Return the window and the failure asked about; what cannot be read is refused later."""
    from gpuvet.modes.window import DEFAULT_SPAN, read_time

    since, until = getattr(args, "since", None), getattr(args, "until", None)
    failure = getattr(args, "failure_at", None)
    with suppress(BadWindow):
        end = read_time(until, now) if until else now
        start = read_time(since, now) if since else end - DEFAULT_SPAN
        times: dict[str, object] = {"failure_at": read_time(failure, now) if failure else None}
        if (since or until) and start < end:
            times["window"] = Window(start=start, end=end)
        return times
    return {}


def use_given(args: argparse.Namespace, heading: Heading) -> None:
    """Fill what a replay was not given itself from what the recorded command was given."""
    for name, value in heading.given:
        # Whoever wrote the zip may have written anything: a true is no number of nodes.
        if _GIVEN.get(name) is type(value) and getattr(args, name, None) is None:
            setattr(args, name, value)


def _keep_spec(args: argparse.Namespace) -> None:
    """Take the job spec into the recording; what is asked is asked of the spec as it is kept."""
    path = getattr(args, "spec", None)
    if path is None:
        return
    from gpuvet.commands.preflight import read_spec

    args.spec_text = without_secrets(read_spec(Path(path)))
    args.spec_file = Path(path).name


@contextmanager
def restoring(args: argparse.Namespace, name: str | None) -> Generator[None, None, None]:
    """Put originals back into what is printed meanwhile, where `--map` is given.

    Args:
        args: Of the command.
        name: The map that belongs to the recording.

    Raises:
        UsageError: The map is none, or another recording's.
    """
    if getattr(args, "map", None) is None:
        yield
        return
    local = read_map(Path(args.map))
    if name is None or local.name != name:
        raise UsageError(f"map {args.map!r} does not belong to the recording {str(args.case)!r}")
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            yield
    except UsageError as error:
        raise UsageError(local.restored(str(error))) from error
    sys.stdout.write(local.restored(printed.getvalue()))
