"""A recording as a zip, and the local map beside it: the same readings and key, the same bytes."""

import hmac
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpuvet.aws.recorded import canonical
from gpuvet.errors import UsageError
from gpuvet.model.evidence import EvidenceOf, evidence_id
from gpuvet.model.untyped import is_object
from gpuvet.record.codec import encoded
from gpuvet.record.heading import HEADING, SPEC_TEXT, Heading
from gpuvet.record.masking import cleaned, cleaned_text
from gpuvet.record.pseudonyms import Pseudonyms
from gpuvet.record.sightings import Sightings
from gpuvet.record.spec_text import documents_of
from gpuvet.record.tape import Reading
from gpuvet.record.walk import Role, walked

MAP_FORM = "gpuvet-map/1"
READINGS = "readings"
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can hold
_PRIVATE = 0o600


class Recording(NamedTuple):
    """A recording before it is written."""

    heading: Heading
    readings: tuple[Reading, ...]


def sightings_of(recording: Recording, evidence: Mapping[str, EvidenceOf]) -> Sightings:
    """Return every identifier and name of a recording.

    Args:
        recording: As read, secrets masked.
        evidence: What evidence ids were made of meanwhile.
    """
    seen = Sightings()

    def learn(text: str, role: Role) -> str:
        seen.learn(text, role)
        return text

    heading = recording.heading
    seen.learn_account(heading.account)
    seen.learn_question(heading.question or "")
    learn(heading.target.cluster or "", Role.NAME)
    learn(" ".join(heading.target.instances), Role.TEXT)
    if heading.target.tag is not None:
        walked({"Tags": [dict(zip(("Key", "Value"), heading.target.tag, strict=True))]}, learn)
    for name, word in heading.given:
        if isinstance(word, str):
            learn(word, Role.TEXT)
            walked(documents_of(word) if name == SPEC_TEXT else None, learn)
    for reading in recording.readings:
        seen.learn_account(reading.answer.account)
        walked(reading.params, learn)
        walked(list(reading.answer.value or ()), learn)
        for note in reading.answer.notes:
            learn(note, Role.TEXT)
    for made in evidence.values():
        learn(made.params, Role.TEXT)
    return seen


def redacted(recording: Recording, pseudonyms: Pseudonyms) -> Recording:
    """Return a recording with stand-ins for everything that names somebody or something."""
    heading, change = recording.heading, pseudonyms.text
    target = heading.target
    changed = target.model_copy(
        update={
            "cluster": target.cluster and change(target.cluster, Role.NAME),
            "instances": tuple(change(one) for one in target.instances),
            "tag": target.tag and _tag(target.tag, pseudonyms),
        }
    )
    update: dict[str, Any] = {
        "redacted": True,
        "account": heading.account and change(heading.account),
        "question": heading.question and change(heading.question, Role.NAME),
        "target": changed,
        "given": tuple((k, change(v) if isinstance(v, str) else v) for k, v in heading.given),
        "ended": change(heading.ended),
    }
    readings = tuple(_changed(one, pseudonyms) for one in recording.readings)
    return Recording(heading.model_copy(update=update), readings)


def _tag(tag: tuple[str, str], pseudonyms: Pseudonyms) -> tuple[str, str]:
    row = pseudonyms.value({"Tags": [{"Key": tag[0], "Value": tag[1]}]})["Tags"][0]
    return row["Key"], row["Value"]


def _changed(reading: Reading, pseudonyms: Pseudonyms) -> Reading:
    answer, change = reading.answer, pseudonyms.text
    value = answer.value and tuple(pseudonyms.value(page) for page in answer.value)
    params = pseudonyms.value(reading.params)
    update: dict[str, Any] = {
        "account": answer.account and change(answer.account),
        "params": canonical(params),
        "value": value,
        "notes": tuple(change(note) for note in answer.notes),
    }
    return reading._replace(params=params, answer=answer.model_copy(update=update))


def evidence_pairs(evidence: Mapping[str, EvidenceOf], pseudonyms: Pseudonyms) -> dict[str, str]:
    """Return the evidence ids of a question by those its replay gives."""
    pairs: dict[str, str] = {}
    for live, made in evidence.items():
        for params in _params_of(made.params, pseudonyms):
            stand_in = evidence_id(
                account=made.account and pseudonyms.text(made.account),
                region=made.region,
                operation=made.operation,
                params=params,
                window=made.window,
            )
            pairs[stand_in] = live
    return pairs


def _params_of(params: str, pseudonyms: Pseudonyms) -> Iterator[str]:
    try:
        value: object = json.loads(params)
    except ValueError:
        yield pseudonyms.text(params, Role.PATH)
        return
    changed = pseudonyms.value(value)
    yield canonical(changed) if is_object(changed) else pseudonyms.text(params, Role.PATH)


def packed(recording: Recording) -> bytes:
    """Return a recording as the bytes of a zip; the order of reading does not show in them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        count = len(recording.readings)
        heading = recording.heading.model_copy(update={"readings": count})
        _add(archive, HEADING, json.loads(heading.model_dump_json()))
        for place, (reading, turn) in enumerate(_in_order(recording.readings), start=1):
            name = f"{READINGS}/{place:05d}"
            pages = reading.answer.value
            _add(archive, f"{name}.json", _row(reading, turn))
            for number, page in enumerate(pages or (), start=1):
                _add(archive, f"{name}.page{number:03d}.json", encoded(page))
    return out.getvalue()


def _in_order(readings: Sequence[Reading]) -> list[tuple[Reading, int]]:
    turns: dict[tuple[str, ...], int] = {}
    rows: list[tuple[tuple[str, ...], int, Reading]] = []
    for reading in readings:
        key = key_of(reading.kind, reading.operation, reading.params, reading.region)
        turns[key] = turns.get(key, 0) + 1
        rows.append((key, turns[key], reading))
    rows.sort(key=lambda row: row[:2])
    return [(reading, turn) for _, turn, reading in rows]


def key_of(
    kind: str, operation: str, params: Mapping[str, Any], region: str | None
) -> tuple[str, ...]:
    """Return what tells one read from another."""
    return kind, operation, canonical(cleaned(params)), region or ""


def _row(reading: Reading, turn: int) -> dict[str, Any]:
    answer = reading.answer
    whole = answer.model_dump(mode="json", exclude={"value", "params"})
    return {
        "kind": reading.kind,
        "operation": reading.operation,
        "params": encoded(reading.params),
        "region": reading.region,
        "turn": turn,
        "has_value": answer.value is not None,
        "answer": whole,
    }


def _add(archive: zipfile.ZipFile, name: str, document: object) -> None:
    member = zipfile.ZipInfo(name, _DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    member.create_system = 3  # the same bytes from every system
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=False)
    archive.writestr(member, text.encode("utf-8", "surrogatepass"))


class Written(NamedTuple):
    """What was written."""

    path: Path
    map: Path | None
    readings: int


def write_recording(
    recording: Recording,
    path: Path,
    *,
    evidence: Mapping[str, EvidenceOf],
    key: bytes | None,
) -> Written:
    """Write a recording, and beside it its local map.

    Args:
        recording: As read, secrets masked.
        path: Of the zip; an older one is replaced when the new one is whole.
        evidence: What evidence ids were made of meanwhile.
        key: Of the stand-ins; None keeps identifiers as they are and writes no map.

    Raises:
        UsageError: It cannot be written there.
    """
    recording = recording._replace(heading=_without_secrets(recording.heading))
    if key is None:
        write_whole(path, packed(recording), mode=_PRIVATE)
        return Written(path, None, len(recording.readings))
    pseudonyms = Pseudonyms.of(sightings_of(recording, evidence), key)
    changed = redacted(recording, pseudonyms)
    name = _name_of(pseudonyms, key)
    heading = changed.heading.model_copy(update={"map": name})
    local = {
        "format": MAP_FORM,
        "map": name,
        "stand_ins": pseudonyms.pairs(),
        "evidence": evidence_pairs(evidence, pseudonyms),
    }
    where = map_beside(path)
    text = json.dumps(local, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    write_whole(where, text.encode("utf-8", "surrogatepass"), mode=_PRIVATE)
    write_whole(path, packed(changed._replace(heading=heading)))
    return Written(path, where, len(changed.readings))


def _name_of(pseudonyms: Pseudonyms, key: bytes) -> str:
    """Return what a map and its recording are known to belong together by."""
    stand_ins = sorted(one for kind in pseudonyms.pairs().values() for one in kind)
    return hmac.digest(key, "\n".join(stand_ins).encode("utf-8", "surrogatepass"), "sha256").hex()[
        :16
    ]


def _without_secrets(heading: Heading) -> Heading:
    given = tuple((k, cleaned_text(v) if isinstance(v, str) else v) for k, v in heading.given)
    question = heading.question and cleaned_text(heading.question)
    ended = cleaned_text(heading.ended)
    return heading.model_copy(update={"given": given, "question": question, "ended": ended})


def map_beside(path: Path) -> Path:
    """Return where the local map of a recording lies."""
    return path.with_name(f"{path.name.removesuffix('.zip')}.map.json")


def write_whole(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that it is there whole or not at all.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(mode)
        Path(draft).replace(path)
    except OSError as error:
        Path(draft).unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


def check_writable(path: Path) -> None:
    """Find out that a recording can be written, before anything is asked.

    Raises:
        UsageError: It cannot, or the name is none of a zip.
    """
    if path.suffix != ".zip":
        raise UsageError(f"--record {str(path)!r}: a recording is a zip; name it case.zip")
    if path.is_dir():
        raise UsageError(f"--record {str(path)!r} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"--record {str(path)!r}: there is no folder {str(path.parent)!r}")
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"--record {str(path)!r}: nothing can be written there: {why}") from error
    os.close(handle)
    Path(draft).unlink(missing_ok=True)
