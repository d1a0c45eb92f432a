"""Every shared case loads, with every file accounted for."""

import json
import shutil
from pathlib import Path

import pytest

from gpuvet.aws.door import LogStream
from gpuvet.case import Case, load_case, node_names, nodes, xid_sight
from gpuvet.model.case import CaseForm, FileKind, FileStatus
from gpuvet.model.cluster import Flag, Orchestrator
from gpuvet.model.evidence import Reason, Status, Window

CASES = Path(__file__).parents[2] / "cases"
VERDICTS = sorted((CASES / "verdicts").glob("*.json"))
FIELD = sorted(path for path in (CASES / "field").iterdir() if path.is_dir())
SCENARIOS = sorted((CASES / "scenarios").glob("*.json"))


def named(path: Path) -> str:
    return path.stem


def field(number: str) -> Case:
    return load_case(next(path for path in FIELD if path.name.startswith(number)))


def streams_of(case: Case) -> tuple[LogStream, ...]:
    return case.logs.streams(node_names(nodes(case))).value or ()


@pytest.mark.parametrize("path", VERDICTS, ids=named)
def test_a_verdict_case_loads_whole(path: Path) -> None:
    given = json.loads(path.read_text(encoding="utf-8"))["input"]
    case = load_case(path, question="which node?")
    assert case.meta.form is CaseForm.VERDICT
    assert case.meta.question == "which node?"
    assert case.meta.window is not None
    assert case.meta.now == case.meta.window.end
    assert [one.node for one in case.facts.nodes] == [one["node_id"] for one in given["nodes"]]
    assert [report.status for report in case.files] == [FileStatus.READ]
    lines = case.logs.gpu_lines(streams_of(case), case.meta.window).value
    assert [line.text for line in lines or ()] == [
        text for node in given["nodes"] for log in node["logs"] for text in log["lines"]
    ]


def test_a_verdict_case_declares_coverage_and_counts_nothing() -> None:
    case = load_case(next(path for path in VERDICTS if path.stem.startswith("v15")))
    assert case.meta.window is not None
    coverage = case.facts.nodes[0].coverage
    assert coverage is not None
    assert (coverage.status, len(coverage.empty_hours)) == ("PARTIAL", 1)
    counts = case.logs.hourly_counts(streams_of(case), case.meta.window)
    assert (counts.status, counts.reason) == (Status.NOT_CHECKED, Reason.NOT_RECORDED)
    assert counts.value is None


def test_a_flag_that_is_not_available_is_not_read() -> None:
    case = load_case(next(path for path in VERDICTS if path.stem.startswith("v03")))
    gpu = case.facts.nodes[0].facts.gpus[0]
    assert gpu.sram_threshold_exceeded is Flag.NOT_READ
    assert (gpu.remap_pending, gpu.remap_failed) == (Flag.YES, Flag.NO)
    assert gpu.pci == "0000:90:00"


def test_a_stream_that_was_asked_for_and_does_not_exist_is_told_from_one_not_asked_for() -> None:
    asked = load_case(next(path for path in VERDICTS if path.stem.startswith("v16")))
    other = load_case(next(path for path in VERDICTS if path.stem.startswith("v01")))
    reading = asked.facts.nodes[0]
    assert (reading.hma_stream, reading.hma_stream_asked) == (None, True)
    assert reading.other_streams_live[0] == "ClusterMetrics/slurm"
    assert other.facts.nodes[0].hma_stream_asked is False


@pytest.mark.parametrize("path", FIELD, ids=named)
def test_a_field_case_loads_with_every_file_accounted_for(path: Path) -> None:
    case = load_case(path)
    files = {str(one.relative_to(path).as_posix()) for one in path.rglob("*") if one.is_file()}
    assert {report.path for report in case.files} == files
    for report in case.files:
        is_answer = report.path == "expected.json"
        assert (report.kind is FileKind.WITHHELD) == is_answer
        assert report.status is (FileStatus.NOT_UNDERSTOOD if is_answer else FileStatus.READ)


@pytest.mark.parametrize("path", FIELD, ids=named)
def test_the_expected_answer_of_a_field_case_is_never_opened(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    shutil.copytree(path, copy)
    (copy / "expected.json").unlink()
    (copy / "expected.json").mkdir()  # opening it would fail
    (copy / "expected.json" / "expected.json").write_text("{", encoding="utf-8")
    told, untold = load_case(path), load_case(copy)
    assert told.meta == untold.meta
    assert told.facts == untold.facts
    assert told.notes == untold.notes


@pytest.mark.parametrize("path", FIELD, ids=named)
def test_recognition_survives_new_names(path: Path, tmp_path: Path) -> None:
    kinds: dict[str, FileKind] = {}
    original = {report.path: report.kind for report in load_case(path).files}
    for place, source in enumerate(sorted((path / "inputs").iterdir())):
        shutil.copy(source, tmp_path / f"{place:02d}.bin")
        kinds[f"{place:02d}.bin"] = original[f"inputs/{source.name}"]
    renamed = {report.path: report.kind for report in load_case(tmp_path).files}
    assert renamed == kinds


def test_the_clock_is_the_end_of_the_last_hour_and_the_pad_is_inside() -> None:
    meta = field("01").meta
    assert meta.now is not None
    assert meta.window is not None
    assert (meta.now.isoformat(), meta.now_source) == (
        "2026-03-02T07:00:00+00:00",
        "the end of the window",
    )
    assert meta.window.start.isoformat() == "2026-03-02T02:00:00+00:00"
    assert meta.window_padded


def test_who_the_cluster_is_follows_from_its_replies() -> None:
    meta = field("01").meta
    assert (meta.cluster, meta.account, meta.region, meta.orchestrator) == (
        "train-a",
        "111122223333",
        "us-west-2",
        Orchestrator.HYPERPOD_EKS,
    )
    assert field("03").meta.orchestrator is Orchestrator.PARALLELCLUSTER
    assert field("06").meta.orchestrator is Orchestrator.EC2
    assert field("07").meta.orchestrator is Orchestrator.EKS


def test_a_file_with_the_node_in_its_name_is_that_nodes() -> None:
    case = field("01")
    assert case.meta.window is not None
    lines = case.logs.gpu_lines(streams_of(case), case.meta.window).value or ()
    assert {line.node for line in lines} == {"i-019b30b5a02255006"}
    assert [line.line for line in lines] == [1, 2, 3, 4]


def test_a_file_of_several_nodes_is_split_by_the_ids_in_its_lines() -> None:
    case = field("08")
    assert case.meta.window is not None
    lines = case.logs.gpu_lines(streams_of(case), case.meta.window).value or ()
    counts = {node.node: 0 for node in nodes(case)}
    for line in lines:
        assert line.node in line.text
        counts[line.node] += 1
    assert len(counts) == 4
    assert len(set(counts.values())) == 1


def test_a_file_that_names_nobody_belongs_to_the_only_node_of_the_case() -> None:
    report = next(one for one in field("05").files if one.path == "inputs/kernel.log")
    assert report.nodes == ("i-0387f828de2b2d131",)


def test_a_file_that_names_nobody_among_several_nodes_is_not_guessed() -> None:
    report = next(one for one in field("04").files if one.path == "inputs/clustermgtd.log")
    assert report.nodes == ("unattributed",)


def test_counts_of_the_case_speak_for_a_node_and_its_raw_excerpt_is_not_counted() -> None:
    case = field("12")
    assert case.meta.window is not None
    counts = case.logs.hourly_counts(streams_of(case), case.meta.window).value or ()
    assert {(one.node[:5], one.stream[:8], len(one.bins)) for one in counts} == {
        ("i-054", "messages", 24),
        ("i-090", "messages", 22),
        ("i-0af", "messages", 4),
    }


def test_only_a_log_in_hand_or_a_complete_search_allows_an_absence() -> None:
    audited = field("12")
    assert xid_sight(audited, "i-0545d989d0034eaae").can_say_none
    assert not xid_sight(audited, "i-0fb633dc47a3c37e9").can_say_none
    kernel = xid_sight(field("05"), "i-0387f828de2b2d131")
    assert (kernel.logs, kernel.searches) == (("inputs/kernel.log",), ())


def test_rows_of_a_search_are_lines_of_the_streams_they_name() -> None:
    case = field("03")
    assert case.meta.window is not None
    found = [
        line
        for line in case.logs.gpu_lines(streams_of(case), case.meta.window).value or ()
        if line.group is not None
    ]
    assert [(line.node, line.stream) for line in found] == [
        ("i-06a6eb9e116b802bf", "system-messages/i-06a6eb9e116b802bf")
    ]


def test_trimmed_replies_are_served_in_boto3s_shape() -> None:
    case = field("06")
    instances = case.aws.read("ec2:DescribeInstances", {}).value
    assert instances is not None
    first = instances[0]["Reservations"][0]["Instances"][0]
    assert first["SecurityGroups"] == [{"GroupId": "sg-0aaaabbbbccccdddd"}]
    kinds = [one["InterfaceType"] for one in first["NetworkInterfaces"]]
    assert (kinds.count("efa"), kinds.count("efa-only")) == (1, 31)
    types = case.aws.read("ec2:DescribeInstanceTypes", {"InstanceTypes": ["p5.48xlarge"]}).value
    assert types == (
        {
            "InstanceTypes": [
                {
                    "InstanceType": "p5.48xlarge",
                    "NetworkInfo": {
                        "EfaSupported": True,
                        "EfaInfo": {"MaximumEfaInterfaces": 32},
                    },
                    "GpuInfo": {"Gpus": [{"Count": 8}]},
                }
            ]
        },
    )


def test_an_operation_that_the_case_has_no_reply_of_is_not_recorded() -> None:
    answer = field("06").aws.read("fsx:DescribeFileSystems", {})
    assert answer.reason is Reason.NOT_RECORDED


def test_ended_instances_have_the_time_and_the_type_of_their_reservation() -> None:
    found = nodes(field("03"))
    assert {node.instance_type for node in found} == {"p5.48xlarge"}
    assert {node.left_at.isoformat() for node in found if node.left_at} == {
        "2026-03-04T11:00:10+00:00",
        "2026-03-04T11:00:22+00:00",
        "2026-03-04T11:00:34+00:00",
        "2026-03-04T11:01:46+00:00",
    }


def test_a_node_condition_and_commands_run_there_are_facts_of_the_node() -> None:
    case = field("02")
    (reading,) = case.facts.nodes
    assert (reading.node, reading.facts.gpus_seen) == ("i-018a17e933b95c181", 8)
    condition = reading.facts.conditions[0]
    assert (condition.kind, condition.status, condition.reason) == (
        "AcceleratedHardwareReady",
        "False",
        "DCGMError",
    )
    gpu = reading.facts.gpus[0]
    assert (gpu.remap_pending, gpu.remap_failed) == (Flag.NO, Flag.NO)
    (node,) = nodes(case)
    assert "ip-10-1-2-3" in node.aliases


def test_small_tables_become_operator_facts() -> None:
    history = field("01").facts.bus_history[0]
    assert (history.earlier_events, history.earlier_days, history.reboots_since) == (0, 30, 0)
    assert history.visible_gpus is None
    clean = field("09").facts.clean_signals[0]
    assert clean.cluster_events == ()
    assert clean.fsx_max_percent == (
        ("NetworkThroughputUtilization", 31.0),
        ("CPUUtilization_MDS", 12.5),
    )
    assert clean.efa_retrans_timeout_events == 0
    allocatable = dict(field("07").facts.nodes[0].allocatable)
    assert allocatable == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}


def test_a_span_of_a_metric_is_one_datapoint_a_period() -> None:
    series = field("05").metrics[0]
    assert series.metric == "CPUUtilization"
    assert [(span.value, span.start and f"{span.start:%H:%M}") for span in series.spans] == [
        (21.4, "12:30"),
        (98.7, "13:00"),
    ]
    assert {span.period_seconds for span in series.spans} == {60}


def test_notes_keep_their_words_and_their_time() -> None:
    (note,) = field("09").notes
    assert note.at_words == "15:18Z"
    assert note.text.startswith("15:18Z user pushed attention kernel build")


def test_manifests_scripts_and_job_output_are_kept_as_text() -> None:
    spec = field("10")
    assert [(one.file, one.kind) for one in spec.manifests] == [
        ("inputs/job.yaml", FileKind.MANIFEST)
    ]
    assert spec.job_logs[0].text.startswith("2026-03-11 10:00:01")
    assert field("08").manifests[0].kind is FileKind.SCRIPT


@pytest.mark.parametrize("path", SCENARIOS, ids=named)
def test_a_scenario_loads_and_its_door_finds_streams_of_its_nodes(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    case = load_case(path)
    assert case.meta.form is CaseForm.SCENARIO
    assert case.meta.question == document["question"]
    assert case.meta.cluster == document["request"]["cluster"]
    assert case.meta.orchestrator is not Orchestrator.UNKNOWN
    found = case.logs.streams(node_names(nodes(case)))
    assert found.status is Status.OK
    assert case.meta.now is not None
    window = case.meta.window or Window(
        start=case.meta.now.replace(day=case.meta.now.day - 1), end=case.meta.now
    )
    counts = case.logs.hourly_counts(found.value or (), window)
    assert counts.status is Status.OK
    assert len(counts.value or ()) == len(found.value or ())


def test_a_scenario_counts_only_hours_inside_the_window() -> None:
    case = load_case(next(path for path in SCENARIOS if path.stem.startswith("s01")))
    assert case.meta.window is not None
    counts = case.logs.hourly_counts(streams_of(case), case.meta.window).value or ()
    kernel = next(
        one for one in counts if one.stream.endswith("8-23.i-0a11c27f3e5d90b41.system-messages")
    )
    assert [(one.hour.isoformat(), one.lines) for one in kernel.bins] == [
        ("2026-03-12T10:00:00+00:00", 38)
    ]
    assert (kernel.kernel_lines_ever, kernel.retention_days) == (2666, 180)


def test_a_preflight_scenario_carries_its_run() -> None:
    case = load_case(next(path for path in SCENARIOS if path.stem.startswith("s07")))
    assert case.meta.run is not None
    assert (case.meta.run.hours, case.meta.run.nodes_needed) == (72.0, 2)


def test_a_folder_of_inputs_alone_and_a_single_log_are_cases_too() -> None:
    inputs = next(path for path in FIELD if path.name.startswith("08")) / "inputs"
    assert len(nodes(load_case(inputs))) == 4
    case = load_case(inputs / "messages.log")
    assert case.meta.form is CaseForm.FILE
    assert case.meta.now_source == "the latest time that a file of the case writes"
    assert len(nodes(case)) == 4


def test_a_cluster_managers_log_names_nodes_where_nothing_lists_them() -> None:
    case = field("04")
    assert {node.node for node in nodes(case)} == {"i-04b2008d490839cb1", "i-09aadaf7c3691565e"}
    listed = {one.kind for one in case.service_logs}
    assert listed == {FileKind.CLUSTER_LOG, FileKind.BOOT_LOG}
    assert "Placing bootstrap failure partitions to INACTIVE" in case.service_logs[1].text


def test_a_log_agents_own_words_are_kept() -> None:
    texts = [one.text for one in field("12").service_logs]
    assert any("tail.0 paused" in text for text in texts)
