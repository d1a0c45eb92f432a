"""What was recorded of an account answers as the account did, under other names."""

import zipfile
from datetime import datetime, timedelta
from itertools import cycle
from pathlib import Path

import pytest
from live.scenarios import SCENARIOS, as_live, asked, document, door, now
from live.test_fault_matrix import FAULTS, KINDS, Ending, Faulty
from live.test_other_doors import busy_cluster
from prometheus_world import NODES, NOW
from recordings import KEY, MODES, Mode, as_json, record, replay
from simulated.account import Fault, account_of
from simulated.clients import live_door
from simulated.fleet import CLUSTER, Kind, fleet, xid

from gpuvet.aws.door import AwsDoor
from gpuvet.case import load_case
from gpuvet.case.live_case import live_case
from gpuvet.model.evidence import EvidenceOf, witnessed
from gpuvet.model.target import Target
from gpuvet.modes.window import Asked
from gpuvet.record.archive import Recording, write_recording
from gpuvet.record.heading import Heading
from gpuvet.record.local_map import read_map
from gpuvet.record.tape import Tape

# Each scenario in one mode, and each kind of cluster as an incident.
QUESTIONS = dict.fromkeys(
    [*zip(SCENARIOS, cycle(MODES), strict=False), *((path, "incident") for path in KINDS)]
)


@pytest.mark.parametrize(
    ("path", "name"), QUESTIONS, ids=[f"{path.stem[:3]} {name}" for path, name in QUESTIONS]
)
def test_the_replayed_answer_mapped_back_is_the_live_answer(
    path: Path, name: str, tmp_path: Path
) -> None:
    scenario, mode = document(path), MODES[name]
    kept = record(scenario, door(scenario), mode, tmp_path / "case.zip")
    again = replay(scenario, mode, kept.written.path)
    assert kept.written.map is not None
    assert read_map(kept.written.map).restored(again) == kept.answer
    assert scenario["account_id"] not in again
    assert scenario["request"]["cluster"] not in again


@pytest.mark.parametrize("word", FAULTS)
def test_what_failed_is_recorded_as_it_failed(word: str, tmp_path: Path) -> None:
    number = list(FAULTS).index(word)
    scenario, mode = document(KINDS[number % len(KINDS)]), MODES["incident"]
    whole = Faulty(door(scenario))
    record(scenario, whole, mode, tmp_path / "whole.zip")
    operations = sorted(whole.asked - {"sagemaker:DescribeCluster", "eks:DescribeCluster"})
    aws = Faulty(door(scenario))
    aws.operation = operations[number * 5 % len(operations)]
    aws.fault = FAULTS[word]
    kept = record(scenario, aws, mode, tmp_path / "case.zip")
    assert kept.written.map is not None
    again = replay(scenario, mode, kept.written.path)
    assert read_map(kept.written.map).restored(again) == kept.answer
    assert aws.met
    assert aws.fault.shown in again


@pytest.mark.parametrize("reads", [1, 30])
@pytest.mark.parametrize("name", MODES)
def test_a_question_that_ended_early_is_recorded_as_far_as_it_came(
    name: str, reads: int, tmp_path: Path
) -> None:
    scenario, mode = document(KINDS[0]), MODES[name]
    aws = Ending(door(scenario))
    aws.left, aws.fault = reads, FAULTS["budget"]
    kept = record(scenario, aws, mode, tmp_path / "case.zip")
    assert kept.written.map is not None
    again = replay(scenario, mode, kept.written.path)
    assert read_map(kept.written.map).restored(again) == kept.answer
    assert '"budget"' in again


@pytest.mark.parametrize("path", KINDS[:2], ids=lambda path: path.stem)
def test_without_stand_ins_the_replay_is_the_live_answer_itself(path: Path, tmp_path: Path) -> None:
    scenario, mode = document(path), MODES["incident"]
    kept = record(scenario, door(scenario), mode, tmp_path / "case.zip", key=None)
    assert replay(scenario, mode, kept.written.path) == kept.answer
    assert kept.written.map is None


@pytest.mark.parametrize("path", KINDS[:2], ids=lambda path: path.stem)
def test_recording_changes_no_answer(path: Path, tmp_path: Path) -> None:
    scenario, mode = document(path), MODES["incident"]
    kept = record(scenario, door(scenario), mode, tmp_path / "case.zip")
    plain = mode(as_live(scenario, door(scenario)), asked(scenario), now(scenario))
    assert as_json(plain) == kept.answer


def test_queries_that_were_too_dear_are_so_again(tmp_path: Path) -> None:
    scenario, mode = document(KINDS[0]), MODES["incident"]
    kept = record(scenario, door(scenario), mode, tmp_path / "case.zip", max_scan_gb=1e-12)
    again = replay(scenario, mode, kept.written.path)
    assert kept.written.map is not None
    assert read_map(kept.written.map).restored(again) == kept.answer
    assert "budget" in again
    free = record(scenario, door(scenario), mode, tmp_path / "free.zip")
    assert free.answer != kept.answer


def test_two_replays_are_equal_bytes_and_so_are_two_recordings_with_one_key(
    tmp_path: Path,
) -> None:
    scenario, mode = document(KINDS[0]), MODES["incident"]
    one = record(scenario, door(scenario), mode, tmp_path / "one.zip").written
    two = record(scenario, door(scenario), mode, tmp_path / "two.zip").written
    assert one.path.read_bytes() == two.path.read_bytes()
    assert one.map is not None
    assert two.map is not None
    assert one.map.read_bytes() == two.map.read_bytes()
    assert replay(scenario, mode, one.path) == replay(scenario, mode, one.path)


def test_another_key_gives_other_stand_ins(tmp_path: Path) -> None:
    scenario, mode = document(KINDS[0]), MODES["verdict"]
    one = record(scenario, door(scenario), mode, tmp_path / "one.zip").written
    two = record(scenario, door(scenario), mode, tmp_path / "two.zip", key=KEY[::-1]).written
    assert replay(scenario, mode, one.path) != replay(scenario, mode, two.path)


def test_the_map_never_lies_in_the_zip(tmp_path: Path) -> None:
    scenario = document(KINDS[0])
    written = record(scenario, door(scenario), MODES["audit"], tmp_path / "case.zip").written
    assert written.map == tmp_path / "case.map.json"
    with zipfile.ZipFile(written.path) as archive:
        names = archive.namelist()
    assert names[0] == "recording.json"
    assert all(name.startswith("readings/") for name in names[1:])


def asked_again(
    aws: AwsDoor, target: Target, clock: datetime, mode: Mode, folder: Path
) -> tuple[str, str, str]:
    """Return what an account answers, what its recording answers, and that mapped back."""
    tape = Tape()
    evidence: dict[str, EvidenceOf] = {}
    with witnessed(evidence):
        case = live_case(
            tape.around(aws), target, now=clock, region="us-west-2", account="111122223333"
        )
        live = as_json(mode(case, Asked(), clock))
    heading = Heading(
        gpuvet="0",
        redacted=False,
        now=clock,
        account="111122223333",
        region="us-west-2",
        target=target,
    )
    recording = Recording(heading, tape.readings)
    written = write_recording(recording, folder / "case.zip", evidence=evidence, key=KEY)
    assert written.map is not None
    again = as_json(mode(load_case(written.path), Asked(), clock))
    return live, again, read_map(written.map).restored(again)


@pytest.mark.parametrize("calls", [None, 25], ids=["to its end", "until the calls are made"])
@pytest.mark.parametrize("kind", ["hyperpod", "ec2"])
def test_the_live_door_itself_is_recorded_with_its_retries_and_its_budget(
    kind: Kind, calls: int | None, tmp_path: Path
) -> None:
    made = fleet(kind, 6)
    xid(made.carrier(3), 79, made.now - timedelta(hours=3))
    target = Target(tag=("fleet", CLUSTER)) if kind == "ec2" else Target(cluster=CLUSTER)
    account = account_of(made)
    account.faults.append(Fault("logs:StartQuery", "LimitExceededException", times=2))
    aws = live_door(account, calls=calls)
    live, again, mapped = asked_again(aws, target, made.now, MODES["incident"], tmp_path)
    assert mapped == live
    assert not any(node.id in again for node in made.nodes)
    assert ('"budget"' in again) == (calls is not None)


@pytest.mark.parametrize("name", MODES)
def test_managed_prometheus_and_kubernetes_are_recorded_through_the_same_door(
    name: str, tmp_path: Path
) -> None:
    world, target = busy_cluster(), Target(cluster="train-a")
    live, again, mapped = asked_again(world, target, NOW, MODES[name], tmp_path)
    assert mapped == live
    assert world.count("kubernetes:") > 0
    assert not any(node in again for node in NODES)
