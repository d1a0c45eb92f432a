"""Lines that speak of storage: paths on Lustre, mounts, full targets, stripes, client timings.

Pure. What a mount is called is not known from a path alone; a path counts as one on Lustre by its
name (`fsx`, `lustre`) or because a mount line names its mount point.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from gpuvet.model.storage import MentionKind, StatTiming, StorageMention, StripeLayout
from gpuvet.parse.job_steps import JobLine, line_time
from gpuvet.parse.untrusted import clean

_MOST_CHARACTERS = 4_000  # ours: of one line that are searched

FILE_SYSTEM = re.compile(r"(?<![\w-])(fs-[0-9a-f]{8,40})(?![0-9a-f])")
# fs-….fsx.region.amazonaws.com@tcp:/name or 10.0.0.5@tcp:/name, then where it is mounted
_MOUNT = re.compile(
    r"(?P<host>[\w.:-]{1,128})@tcp\d*:/(?P<name>[a-z0-9]{4,16})\b"
    r"(?:\s+(?:on\s+)?(?P<point>/[\w./-]{1,200}))?"
)
# Ours: directories that people name after the service or the file system.
LUSTRE_PATH = re.compile(
    r"(?<![\w.:/@-])(/(?:[\w.-]{1,64}/){0,3}[\w.-]{0,32}(?:fsx|lustre)[\w.-]{0,64}(?:/[\w.+=%-]{1,128}){0,24})",
    re.IGNORECASE,
)
_ANY_PATH = re.compile(r"(?<![\w.:@-])(/[\w.+=%-]{1,128}(?:/[\w.+=%-]{1,128}){1,24})")
_NO_SPACE = re.compile(
    r"No space left on device|\bENOSPC\b|\berrno[\s:=]*28\b|\brc[\s:=]*-28\b", re.IGNORECASE
)
_CHECKPOINT = re.compile(r"checkpoint|\bckpt\b", re.IGNORECASE)


# Lustre writes target indexes in hexadecimal: OST000a is the eleventh.
_TARGET = re.compile(r"(?<![A-Z])OST([0-9a-fA-F]{4})(?![0-9a-fA-F])")


def storage_mentions(
    lines: Iterable[JobLine], *, reference: datetime, mount_points: Iterable[str] = ()
) -> Iterator[StorageMention]:
    """Yield every line that names a path on Lustre, a file system, a mount or a full device.

    Args:
        lines: Output of the job or of commands, manifests.
        reference: The latest time a stamp without a year can plausibly have.
        mount_points: Where mount lines say that Lustre is mounted, e.g. /data.
    """
    path = _path_pattern(mount_points)
    for line in lines:
        mention = _mention(line, reference, path)
        if mention is not None:
            yield mention


def _path_pattern(mount_points: Iterable[str]) -> re.Pattern[str]:
    points = sorted({point.rstrip("/") for point in mount_points} - {""}, reverse=True)
    if not points:
        return LUSTRE_PATH
    under = "|".join(re.escape(point) for point in points)
    own = rf"(?<![\w.:/@-])((?:{under})(?:/[\w.+=%-]{{1,128}}){{0,24}})(?![\w.+=%-])"
    return re.compile(f"{own}|{LUSTRE_PATH.pattern}", re.IGNORECASE)


def _mention(
    line: JobLine, reference: datetime, path_pattern: re.Pattern[str]
) -> StorageMention | None:
    text = line.text[:_MOST_CHARACTERS]
    mount, named = _MOUNT.search(text), FILE_SYSTEM.search(text)
    path, full = path_pattern.search(text), _NO_SPACE.search(text)
    if not (mount or named or path or full):
        return None
    kinds = (
        (MentionKind.PATH, path),
        (MentionKind.FILE_SYSTEM, named),
        (MentionKind.MOUNT, mount),
        (MentionKind.NO_SPACE, full),
        (MentionKind.CHECKPOINT, _CHECKPOINT.search(text)),
    )
    named_path = path or (_ANY_PATH.search(text) if full else None)
    target = _TARGET.search(text)
    return StorageMention(
        kinds=tuple(kind for kind, found in kinds if found),
        at=line_time(line, reference),
        path=next(filter(None, named_path.groups())).rstrip(".") if named_path else None,
        file_system=named[1] if named else None,
        mount_name=mount["name"] if mount else None,
        mount_point=mount["point"] if mount else None,
        target=int(target[1], 16) if target else None,
        source=line.source,
        line=line.line,
        raw=clean(line.text),
        evidence=line.evidence,
    )


_STRIPE_COMMAND = re.compile(r"lfs\s+getstripe\b[^/\n]*(/[\w.+=%/-]{1,400})")
_STRIPE_PATH = re.compile(r"^(/[\w.+=%/-]{1,400}):?\s*$")
_STRIPE_TABLE = re.compile(r"\bobdidx\b", re.IGNORECASE)
_STRIPE_ROW = re.compile(r"^\s*(\d{1,4})\s+\d+\s+0x[0-9a-f]+\s+\S+\s*$", re.IGNORECASE)
_STRIPE_OBJECT = re.compile(r"\bl_ost_idx\s*:\s*(\d{1,4})\b")


def stripe_layouts(lines: Iterable[JobLine]) -> Iterator[StripeLayout]:
    """Yield on which storage targets each file of an `lfs getstripe` print lies."""
    path: JobLine | None = None
    name = ""
    targets: list[int] = []
    in_table = False
    for line in lines:
        text = line.text[:_MOST_CHARACTERS]
        begins = _STRIPE_PATH.match(text) or _STRIPE_COMMAND.search(text)
        if begins is not None and (begins[1] != name or path is None):
            if path is not None and targets:
                yield _layout(path, name, targets)
            path, name, targets, in_table = line, begins[1], [], False
            continue
        in_table = in_table or _STRIPE_TABLE.search(text) is not None
        row = _STRIPE_OBJECT.search(text) or (_STRIPE_ROW.match(text) if in_table else None)
        if row is not None:
            targets.append(int(row[1]))
    if path is not None and targets:
        yield _layout(path, name, targets)


def _layout(place: JobLine, name: str, targets: list[int]) -> StripeLayout:
    return StripeLayout(
        path=name, targets=tuple(sorted(set(targets))), source=place.source, line=place.line
    )


_DURATION = r"(?:(?P<{0}m>\d{{1,4}})m)?(?P<{0}s>\d{{1,5}}(?:\.\d{{1,9}})?)\s?(?P<{0}u>ms|s)?"
_STAT = re.compile(
    r"\b(?:stat|open|ls|lstat|newfstatat)\b[^/\n]{0,40}(?P<path>/[\w.+=%/-]{1,400})(?P<rest>.{0,200})",
    re.IGNORECASE,
)
_REAL = re.compile(rf"\s*real\s+{_DURATION.format('n')}\s*$")
_TIME_BELOW = 20  # ours: lines between a timed command and its `real`
_TOOK = re.compile(rf"(?:real|took|latency|:|=|->)\s*{_DURATION.format('n')}", re.IGNORECASE)
_WAS = re.compile(
    rf"\b(?:was|before|earlier|usually|normally)\b[\s:=]*{_DURATION.format('w')}", re.IGNORECASE
)
_CLOCK = re.compile(r"(?<![\d:])(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?\s?(?:Z|UTC)")


def stat_timings(lines: Iterable[JobLine], *, measured: bool) -> Iterator[StatTiming]:
    """Yield how long clients waited for the metadata of a file, as they timed it.

    Args:
        lines: Notes, or output of commands run on a node.
        measured: True for a command's own output.
    """
    asked: tuple[JobLine, str] | None = None  # a timed command whose time stands further down
    for line in lines:
        text = line.text[:_MOST_CHARACTERS]
        found = _STAT.search(text)
        took = _TOOK.search(found["rest"]) if found else None
        if found is not None and took is not None and _duration(took, "n") is not None:
            yield _timing(line, found["path"], took, found["rest"], measured=measured)
        elif found is not None and measured:
            asked = (line, found["path"])
        elif asked is not None and (real := _REAL.match(text)) is not None:
            if line.source == asked[0].source and line.line - asked[0].line <= _TIME_BELOW:
                yield _timing(asked[0], asked[1], real, "", measured=measured)
            asked = None


def _timing(
    line: JobLine, path: str, took: re.Match[str], rest: str, *, measured: bool
) -> StatTiming:
    was, clock = _WAS.search(rest), _CLOCK.search(line.text[:_MOST_CHARACTERS])
    return StatTiming(
        path=path,
        seconds=_duration(took, "n") or 0.0,
        before_seconds=_duration(was, "w") if was else None,
        at_words=clock[0] if clock else None,
        measured=measured,
        source=line.source,
        line=line.line,
        raw=clean(line.text),
    )


def _duration(found: re.Match[str], prefix: str) -> float | None:
    """Return a duration in seconds; one without a unit (`0.412`) is none."""
    minutes, seconds, unit = found[f"{prefix}m"], found[f"{prefix}s"], found[f"{prefix}u"]
    if unit is None:
        return None
    return int(minutes or 0) * 60 + float(seconds) * (0.001 if unit.lower() == "ms" else 1)
