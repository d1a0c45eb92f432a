"""A recording as a file: whole or not at all, read back without loss, refused where broken."""

import json
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuvet.aws.door import Page
from gpuvet.case import load_case
from gpuvet.case.container import Container
from gpuvet.case.recording import read_recording
from gpuvet.case.schemas import schema_text
from gpuvet.errors import UnreadableCase, UsageError
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.target import Target
from gpuvet.record.archive import Recording, check_writable, write_recording, write_whole
from gpuvet.record.codec import decoded, encoded
from gpuvet.record.heading import Heading
from gpuvet.record.local_map import read_map
from gpuvet.record.replay import Replayed
from gpuvet.record.tape import Reading, Tape

NOW = datetime(2026, 3, 2, 7, tzinfo=UTC)
NODE = "i-0f3c9a7be21d45680"


def answer(*pages: Page, status: Status = Status.OK, **more: Any) -> Envelope[tuple[Page, ...]]:  # noqa: ANN401 (fields)
    """Return a reply as a door gives it."""
    return Envelope[tuple[Page, ...]](
        service="ec2",
        operation="DescribeSubnets",
        region="us-west-2",
        params="{}",
        called_at=NOW,
        status=status,
        value=pages or None,
        pages=len(pages),
        **more,
    )


def heading() -> Heading:
    """Return a question about one instance."""
    target = Target(instances=(NODE,))
    return Heading(gpuvet="0", redacted=False, now=NOW, region="us-west-2", target=target)


def written(tape: Tape, path: Path, key: bytes | None = None) -> tuple[Reading, ...]:
    """Write what a tape holds; return what is read back."""
    write_recording(Recording(heading(), tape.readings), path, evidence={}, key=key)
    recorded = read_recording(Container(path))
    assert recorded is not None
    return recorded.readings


ANSWERS = {
    "pages": answer({"Subnets": [{"At": NOW}]}, {"Subnets": []}),
    "empty": answer({"Subnets": []}, status=Status.OK_EMPTY),
    "denied": answer(
        status=Status.UNVERIFIED,
        reason=Reason.DENIED,
        error_code="UnauthorizedOperation",
        notes=("no, not you",),
    ),
    "throttled": answer(status=Status.UNVERIFIED, reason=Reason.THROTTLED, error_code="Throttling"),
    "timed out": answer(status=Status.UNVERIFIED, reason=Reason.TIMED_OUT),
    "budget": answer(status=Status.NOT_CHECKED, reason=Reason.BUDGET),
    "partial": answer({"Subnets": [1]}, status=Status.PARTIAL, reason=Reason.PAGE_CAP),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read_back_as_it_was(name: str, tmp_path: Path) -> None:
    tape = Tape()
    params = {"Filters": [{"Name": "x", "Values": ["y"]}], "StartTime": NOW, "n": 5}
    kept = tape.take("aws", "ec2:DescribeSubnets", params, ANSWERS[name], region="eu-west-1")
    (reading,) = written(tape, tmp_path / "case.zip")
    assert reading.answer.model_copy(update={"params": "{}"}) == kept == ANSWERS[name]
    assert (reading.kind, reading.region, reading.params) == ("aws", "eu-west-1", params)


def test_answers_of_one_question_come_in_their_order_and_the_last_one_stays(
    tmp_path: Path,
) -> None:
    tape = Tape()
    for name in ("throttled", "pages", "denied"):
        tape.take("aws", "ec2:DescribeSubnets", {}, ANSWERS[name])
    door = Replayed(written(tape, tmp_path / "case.zip"))
    got = [door.read("ec2:DescribeSubnets", {}).reason for _ in range(4)]
    assert got == [Reason.THROTTLED, None, Reason.DENIED, Reason.DENIED]


def test_what_was_not_read_is_not_recorded_never_empty(tmp_path: Path) -> None:
    tape = Tape()
    tape.take("aws", "ec2:DescribeSubnets", {}, ANSWERS["pages"])
    door = Replayed(written(tape, tmp_path / "case.zip"), now=NOW, region="us-west-2")
    got = door.read("ec2:DescribeSubnets", {"SubnetIds": ["subnet-1"]})
    assert (got.status, got.reason, got.value) == (Status.NOT_CHECKED, Reason.NOT_RECORDED, None)
    assert "not among the recorded reads" in got.notes[0]


def test_several_doors_share_a_tape_and_keep_their_answers_apart(tmp_path: Path) -> None:
    class Door:
        def __init__(self, name: str) -> None:
            self.name = name

        def read(
            self, operation: str, params: Mapping[str, Any], *, region: str | None = None
        ) -> Envelope[tuple[Page, ...]]:
            return answer({"from": self.name, "of": operation, "with": dict(params), "in": region})

    tape = Tape()
    kinds = ("aws", "prometheus", "kubernetes")
    doors = {kind: tape.around(Door(kind), kind) for kind in kinds}
    asked = {kind: door.read("ec2:DescribeSubnets", {"q": "up"}) for kind, door in doors.items()}
    readings = written(tape, tmp_path / "case.zip")
    for kind in kinds:
        again = Replayed(readings, kind=kind).read("ec2:DescribeSubnets", {"q": "up"})
        assert again.value == asked[kind].value


def test_threads_lose_no_reading(tmp_path: Path) -> None:
    tape = Tape()

    def read(number: int) -> None:
        tape.take("aws", "ec2:DescribeSubnets", {"n": number}, ANSWERS["pages"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(200)))
    assert len(written(tape, tmp_path / "case.zip")) == 200


def test_the_order_of_reading_does_not_show_in_the_bytes(tmp_path: Path) -> None:
    for name, numbers in (("one", range(9)), ("two", reversed(range(9)))):
        tape = Tape()
        for number in numbers:
            tape.take("aws", "ec2:DescribeSubnets", {"n": number}, ANSWERS["pages"])
        written(tape, tmp_path / f"{name}.zip", key=b"k" * 16)
    one, two = (tmp_path / f"{name}.zip" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=8)
    | st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5))])).map(
        lambda at: at.replace(fold=0)
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["a", "$time", "$bytes", "$object", "$float", "Key"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(value=JSONS)
def test_whatever_a_reply_holds_survives_as_json(value: Any) -> None:  # noqa: ANN401 (any reply)
    again = decoded(json.loads(json.dumps(encoded(value))))
    assert repr(again) == repr(value)  # repr: nan is not equal to itself


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        pytest.param({"readings/00001.json": None}, "0 of 1 readings", id="a reading is gone"),
        pytest.param({"readings/00001.page001.json": None}, "is no reading", id="a page is gone"),
        pytest.param({"readings/00001.json": "{}"}, "is no reading", id="no reading"),
        pytest.param({"readings/00001.json": "{"}, "readings/00001.json", id="no JSON"),
        pytest.param({"readings/00001.page001.json": "[]"}, "is no reading", id="no page"),
        pytest.param({"recording.json": '{"format":"gpuvet-recording/1"}'}, "gpuvet", id="bare"),
    ],
)
def test_a_recording_that_was_tampered_with_is_refused(
    spoil: dict[str, str | None], told: str, tmp_path: Path
) -> None:
    tape = Tape()
    tape.take("aws", "ec2:DescribeSubnets", {}, ANSWERS["pages"])
    path, other = tmp_path / "case.zip", tmp_path / "other.zip"
    written(tape, path)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            text = spoil.get(name, source.read(name).decode())
            if text is not None:
                target.writestr(name, text)
    with pytest.raises(UnreadableCase, match="cannot be read") as caught:
        load_case(other)
    assert told in str(caught.value)


def test_the_heading_is_what_its_schema_says(tmp_path: Path) -> None:
    written(Tape(), tmp_path / "case.zip", key=b"k" * 16)
    document = json.loads(zipfile.ZipFile(tmp_path / "case.zip").read("recording.json"))
    schema = json.loads(schema_text("recording.schema.json"))
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "nwo": 1}, schema)


def test_an_unpacked_recording_is_one_too(tmp_path: Path) -> None:
    tape = Tape()
    tape.take("aws", "ec2:DescribeSubnets", {}, ANSWERS["pages"])
    readings = written(tape, tmp_path / "case.zip")
    with zipfile.ZipFile(tmp_path / "case.zip") as archive:
        archive.extractall(tmp_path / "case")
    recorded = read_recording(Container(tmp_path / "case"))
    assert recorded is not None
    assert recorded.readings == readings


def test_a_zip_of_something_else_is_no_recording(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "case.zip", "w") as archive:
        archive.writestr("recording.json", '{"format": "a studio\'s"}')
    assert read_recording(Container(tmp_path / "case.zip")) is None


def test_a_file_that_cannot_be_finished_leaves_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "case.zip"
    path.write_bytes(b"older")
    path.chmod(0o644)
    target = tmp_path / "taken"
    target.mkdir()
    (target / "x").write_bytes(b"")
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(target, b"newer")
    write_whole(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["case.zip", "taken"]


def test_a_folder_that_takes_no_files_is_found_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refused)
    with pytest.raises(UsageError, match="nothing can be written there: Permission denied"):
        check_writable(tmp_path / "case.zip")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "gpuvet-map/2"}', "\x00", "[" * 100_000]
)
def test_what_is_no_map_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "case.map.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="is no map"):
        read_map(path)
