"""Branch C, sentence by sentence (incident-branches §C): Proven, hypothesis, ruled out, open."""

from dataclasses import replace
from datetime import timedelta

import pytest
from storage_world import (
    FS,
    NOW,
    PATH,
    QUIET,
    SLOW,
    SLOW_AT,
    START,
    SUNDAY,
    SYSTEM,
    WINDOW,
    busy,
    flat,
    gpu,
    gpu_listing,
    listed,
    minute,
    replaced,
    series,
    server,
    with_run,
    world,
)

from gpuvet.calculators.branch_storage import storage_evidence
from gpuvet.calculators.fsx_link import Placement
from gpuvet.calculators.ranking import rank_branches
from gpuvet.calculators.storage_inputs import StorageInputs
from gpuvet.calculators.storage_timeline import storage_timeline
from gpuvet.model.case import CleanSignals
from gpuvet.model.cause import (
    Branch,
    BranchStatus,
    EventKind,
    Failure,
    Label,
    Signal,
    Symptom,
    TimelineEvent,
)
from gpuvet.model.evidence import Envelope, Reason, Status
from gpuvet.model.metrics import MetricName
from gpuvet.model.storage import (
    AdministrativeAction,
    FileSystem,
    MentionKind,
    StatTiming,
    StorageMention,
)

NETWORK = ("NetworkThroughputUtilization", "OSS0000")
DISK = ("FileServerDiskThroughputUtilization", "OSS0000")
IOPS = ("DiskIopsUtilization", "OST0000")
MDS = ("CPUUtilization", "MDS0000")
OPS, WRITES, READS = ("MetadataOperations", ""), ("DataWriteBytes", ""), ("DataReadBytes", "")
THROUGHPUT = busy({NETWORK: with_run(20, 97, 36, 80)}, {WRITES: with_run(6e8, 8e10, 36, 80)})
METADATA = busy({MDS: with_run(9, 98.7, 36, 80)}, {OPS: with_run(100, 800, 36, 80)})


def judged(inputs: StorageInputs) -> tuple[BranchStatus, Label | None]:
    ranking = rank_branches([storage_evidence(inputs)], inputs.failure)
    row = next(b for b in ranking.branches if b.branch is Branch.STORAGE)
    return row.status, row.label


def only_signal(inputs: StorageInputs) -> Signal:
    (signal,) = storage_evidence(inputs).signals
    return signal


PROVEN = (BranchStatus.ROOT_CAUSE, Label.PROVEN)
LEADS = (BranchStatus.LEADING_HYPOTHESIS, Label.HYPOTHESIS)
OPEN = (BranchStatus.UNVERIFIED, None)
OUT = (BranchStatus.RULED_OUT, None)
UNSEEN = (BranchStatus.NOT_OBSERVABLE, None)


def test_saturation_before_the_slowdown_on_the_jobs_file_system_is_proven() -> None:
    inputs = world(THROUGHPUT)
    assert judged(inputs) == PROVEN
    assert only_signal(inputs) == Signal(
        branch=Branch.STORAGE,
        kind="fsx_saturated",
        what=(
            f"{FS} is throughput-bound by writes: OSS0000 NetworkThroughputUtilization 97.0 % "
            "from 12:36Z to 13:20Z (44 min); bar 90 % for 5 min; starts 12:36Z before the "
            "slowdown at 12:40:20Z (job log) and covers 100 % of it"
        ),
        resource=FS,
        at=minute(36),
        precision_seconds=60,
        until=minute(80),
        mechanism="reads and writes of the job wait for the file server",
        evidence=("ev-NetworkThroughputUtilization",),
    )


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        pytest.param(THROUGHPUT, "throughput-bound by writes", id="network and writes"),
        pytest.param(
            busy({DISK: with_run(20, 95, 36, 80)}, {READS: with_run(6e9, 6e10, 36, 80)}),
            "throughput-bound by reads",
            id="disks of the file server and reads",
        ),
        pytest.param(
            busy({NETWORK: with_run(20, 97, 36, 80)}),
            "throughput-bound (which traffic was not read)",
            id="bytes that did not grow name no traffic",
        ),
        pytest.param(busy({IOPS: with_run(20, 97, 36, 80)}), "IOPS-bound", id="disk operations"),
        pytest.param(METADATA, "metadata-bound", id="metadata server and three times the calls"),
        pytest.param(
            busy({MDS: with_run(9, 98.7, 36, 80)}, {OPS: with_run(100, 299, 36, 80)}),
            "saturated in its metadata server (MetadataOperations only 3.0 times",
            id="fewer calls than three times the baseline are not metadata-bound",
        ),
        pytest.param(
            busy(
                {MDS: with_run(9, 98.7, 36, 80), NETWORK: with_run(20, 60, 36, 80)},
                {OPS: with_run(100, 800, 36, 80)},
            ),
            "saturated in its metadata server (throughput utilisation up to 60.0 %",
            id="nor is throughput at 60 %",
        ),
        pytest.param(
            busy({MDS: with_run(9, 98.7, 36, 80)}, {OPS: flat(None)}),
            "saturated in its metadata server (MetadataOperations and their baseline not read)",
            id="nor without the count",
        ),
    ],
)
def test_what_a_file_system_is_bound_by(metrics: tuple[object, ...], words: str) -> None:
    inputs = replaced(world(), series=metrics)
    assert f"{FS} is {words}" in only_signal(inputs).what
    assert judged(inputs) == PROVEN


def test_checkpoints_are_named_where_the_job_log_has_them() -> None:
    saving = StorageMention(
        kinds=(MentionKind.PATH, MentionKind.CHECKPOINT),
        at=minute(35),
        path="/fsx/ckpt",
        source="job.log",
        line=9,
        raw="checkpoint save start /fsx/ckpt",
    )
    inputs = world(THROUGHPUT, mentions=[saving])
    assert "throughput-bound by checkpoint writes" in only_signal(inputs).what


def test_a_rate_is_the_sum_over_the_period() -> None:
    facts = storage_evidence(world(THROUGHPUT)).facts
    assert (
        "DataWriteBytes: 1333333333 B/s (1.33 GB/s) in the saturated time, 10000000 B/s "
        "(10.0 MB/s) before it (medians)" in facts
    )


def test_a_metadata_server_of_an_oss_name_is_context_only() -> None:
    oss_cpu = series("CPUUtilization", flat(99), unit=server("OSS0000"))
    assert judged(world((*busy(), oss_cpu))) == OUT


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({NETWORK: with_run(20, 97, 36, 61)}, PROVEN, id="half of the slow period"),
        pytest.param({NETWORK: with_run(20, 97, 36, 59)}, LEADS, id="less than half of it"),
        pytest.param({NETWORK: with_run(20, 97, 39, 80)}, PROVEN, id="the minute before the start"),
        pytest.param({NETWORK: with_run(20, 97, 40, 80)}, LEADS, id="the same minute has no order"),
        pytest.param({NETWORK: with_run(20, 97, 41, 80)}, OPEN, id="later is an effect"),
    ],
)
def test_order_and_overlap_decide(
    changes: dict[tuple[str, str], list[float | None]], expected: tuple[BranchStatus, Label | None]
) -> None:
    assert judged(world(busy(changes))) == expected


def test_saturation_after_the_start_says_effect_or_coincidence() -> None:
    signal = only_signal(world(busy({NETWORK: with_run(20, 97, 45, 80)})))
    assert signal.effect
    assert "after the slowdown at 12:40:20Z (job log): effect or coincidence" in signal.what


def test_a_slow_period_that_is_not_over_lasts_to_the_end_of_the_window() -> None:
    failure = SLOW.model_copy(update={"slow_until": None})
    short = world(busy({NETWORK: with_run(20, 97, 36, 70)}), failure=failure)
    long = world(busy({NETWORK: with_run(20, 97, 36, 100)}), failure=failure)
    assert (judged(short), judged(long)) == (LEADS, PROVEN)


@pytest.mark.parametrize("symptom", [Symptom.CRASH, Symptom.HANG, Symptom.NODES_LOST])
def test_saturation_explains_slowness_only(symptom: Symptom) -> None:
    failure = SLOW.model_copy(update={"symptom": symptom})
    assert judged(world(THROUGHPUT, failure=failure)) == LEADS


STATED = Failure(
    symptom=Symptom.SLOW,
    at=minute(55),
    observed=False,
    source="the user's words",
    precision_seconds=900,
    slow_until=minute(70),
)
NO_GPU = gpu_listing()


@pytest.mark.parametrize(
    ("values", "gpu_listed", "expected"),
    [
        pytest.param(with_run(20, 97, 40, 85), NO_GPU, PROVEN, id="15 min around, no GPU metrics"),
        pytest.param(with_run(20, 97, 41, 85), NO_GPU, LEADS, id="14 min before is too little"),
        pytest.param(with_run(20, 97, 40, 84), NO_GPU, LEADS, id="14 min after likewise"),
        pytest.param(
            with_run(20, 97, 40, 85),
            gpu_listing(status=Status.UNVERIFIED),
            LEADS,
            id="a denied listing is not an absence",
        ),
        pytest.param(with_run(20, 97, 40, 85), None, LEADS, id="nor is one nobody asked for"),
        pytest.param(
            with_run(20, 97, 40, 85),
            gpu_listing(gpu("i-0aaa0000000000001", 0, []).name),
            LEADS,
            id="GPU metrics that exist could have shown it",
        ),
    ],
)
def test_a_slowdown_that_only_the_user_states(
    values: list[float | None],
    gpu_listed: Envelope[tuple[MetricName, ...]] | None,
    expected: tuple[BranchStatus, Label | None],
) -> None:
    inputs = world(busy({NETWORK: values}), failure=STATED, gpu_listed=gpu_listed)
    assert judged(inputs) == expected
    said = "Proven (storage saturated); effect on training: Hypothesis"
    assert (said in only_signal(inputs).what) == (expected == PROVEN)


OTHER = SYSTEM.model_copy(update={"id": "fs-0fedcba9876543210", "mount_name": "zzzzzzzz"})
MOUNTED = StorageMention(
    kinds=(MentionKind.MOUNT,), mount_name="abcdefgh", source="mount.txt", line=1, raw="…"
)
NAMED = StorageMention(
    kinds=(MentionKind.FILE_SYSTEM,), file_system=FS, source="pv.yaml", line=4, raw="…"
)
DNS = Placement(dns_names=(SYSTEM.dns_name or "",))


@pytest.mark.parametrize(
    ("systems", "mentions", "placement", "expected"),
    [
        pytest.param(listed(SYSTEM, OTHER), [], DNS, PROVEN, id="the group's DNS name"),
        pytest.param(listed(SYSTEM, OTHER), [MOUNTED], Placement(), PROVEN, id="a mount line"),
        pytest.param(
            listed(SYSTEM, OTHER), [NAMED], Placement(), PROVEN, id="its id in a manifest"
        ),
        pytest.param(listed(SYSTEM), [PATH], Placement(), PROVEN, id="the only one, and a path"),
        pytest.param(listed(SYSTEM), [], Placement(), LEADS, id="the only one without a path"),
        pytest.param(
            listed(SYSTEM, OTHER), [PATH], Placement(), LEADS, id="a path, but two of them"
        ),
        pytest.param(
            listed(SYSTEM, status=Status.PARTIAL),
            [PATH],
            Placement(),
            LEADS,
            id="a list cut short has no only one",
        ),
        pytest.param(
            listed(SYSTEM),
            [],
            Placement(("x",), ("vpc-1",), ("subnet-1",)),
            LEADS,
            id="VPC and subnet",
        ),
    ],
)
def test_a_file_system_is_the_jobs_by(
    systems: Envelope[tuple[FileSystem, ...]],
    mentions: list[StorageMention],
    placement: Placement,
    expected: tuple[BranchStatus, Label | None],
) -> None:
    inputs = world(THROUGHPUT, systems=systems, mentions=mentions, placement=placement)
    assert judged(inputs) == expected


def test_a_saturated_file_system_of_somebody_else_is_no_cause() -> None:
    foreign = [
        series("NetworkThroughputUtilization", flat(99), unit=server("OSS0000"), system=OTHER.id)
    ]
    inputs = world((*busy(), *foreign), systems=listed(SYSTEM, OTHER), mentions=[MOUNTED])
    assert judged(inputs) == OUT


def test_an_idle_job_cannot_have_been_slowed() -> None:
    idle = (gpu("i-0aaa0000000000001", 0, flat(2)),)
    inputs = world(THROUGHPUT, gpu=idle)
    assert judged(inputs) == LEADS
    assert "an idle job cannot be slowed" in only_signal(inputs).what


SPIKE = busy({MDS: with_run(9, 71.2, 36, 120)}, {OPS: with_run(100, 980, 36, 120)})


def test_a_metadata_rise_without_saturation_is_a_hypothesis_with_the_deciding_measurement() -> None:
    evidence = storage_evidence(world(SPIKE))
    (signal,) = evidence.signals
    assert judged(world(SPIKE)) == LEADS
    assert signal.what == (
        f"{FS} shows a metadata-heavy pattern, not saturated by the rule: MetadataOperations rose "
        "at 12:36Z from 100 to 980 a period, 9.8 times (median of the 36 points of the window "
        "before the rise: no baseline of the previous 72 h is recorded); MDS0000 CPUUtilization "
        "max 71.2 %, below the bar of 90 %"
    )
    assert signal.confirming is not None
    assert signal.confirming.startswith("client-side stat or small-file open latency on the mount")
    assert [n.what for n in evidence.deciding_unseen] == [
        f"client-side stat and open latency on the mount of {FS}"
    ]


def timing(seconds: float, before: float | None, *, measured: bool) -> StatTiming:
    return StatTiming(
        path="/fsx/a",
        seconds=seconds,
        before_seconds=before,
        measured=measured,
        source="t.txt",
        line=1,
        raw="time stat /fsx/a",
    )


@pytest.mark.parametrize(
    ("seconds", "before", "measured", "expected"),
    [
        pytest.param(0.412, 0.002, True, PROVEN, id="a client that waits decides"),
        pytest.param(0.412, 0.002, False, LEADS, id="a note of it does not"),
        pytest.param(0.009, 0.002, True, LEADS, id="less than five times as long does not"),
        pytest.param(0.412, None, True, LEADS, id="nor one timing alone"),
    ],
)
def test_the_deciding_measurement(
    seconds: float,
    before: float | None,
    measured: bool,
    expected: tuple[BranchStatus, Label | None],
) -> None:
    timings = (timing(seconds, before, measured=measured),)
    assert judged(world(SPIKE, timings=timings)) == expected


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({NETWORK: [*flat(97, 4), *flat(20, 116)]}, id="four points at the bar"),
        pytest.param(
            {NETWORK: [97.0 if i % 5 else None for i in range(120)]},
            id="runs broken by missing ones",
        ),
        pytest.param({NETWORK: [9700.0] * 120}, id="values that are no percent"),
        pytest.param({MDS: with_run(9, 95, 36, 39)}, id="a short peak of the metadata server"),
    ],
)
def test_values_at_the_bar_without_a_run_neither_lead_nor_rule_out(
    changes: dict[tuple[str, str], list[float | None]],
) -> None:
    evidence = storage_evidence(world(busy(changes)))
    assert judged(world(busy(changes))) == OPEN
    assert (evidence.signals, evidence.ruled_out) == ((), None)
    assert evidence.unverified is not None


def test_a_metadata_rise_beside_a_broken_run_does_not_lead() -> None:
    broken = busy({MDS: with_run(9, 95, 36, 39)}, {OPS: with_run(100, 980, 36, 120)})
    assert judged(world(broken)) == OPEN


def test_points_of_five_minutes_allow_a_hypothesis_only() -> None:
    coarse = [
        series(metric, [97.0] * 24, unit=server(unit), period=300) if metric == NETWORK[0] else one
        for (metric, unit), one in zip(QUIET, busy(), strict=False)
    ]
    inputs = world(coarse)
    assert judged(inputs) == LEADS
    assert "five minutes above 90 % cannot be shown" in only_signal(inputs).what


def test_storage_is_ruled_out_with_values_and_coverage() -> None:
    assert judged(world()) == OUT
    assert storage_evidence(world()).ruled_out == (
        f"FSx not saturated, 12:10:20Z to 14:00Z without a gap: {FS}: "
        "NetworkThroughputUtilization max 20.0 % (OSS0000; 1 file server; not saturated, bar "
        "90 % for 5 min), FileServerDiskThroughputUtilization max 15.0 % (OSS0000; 1 file "
        "server; not saturated, bar 90 % for 5 min), DiskIopsUtilization max 12.0 % (OST0000; "
        "1 storage target; not saturated, bar 90 % for 5 min), CPUUtilization max 9.0 % "
        "(MDS0000; 1 metadata server; not saturated, bar 90 % for 5 min); no maintenance window "
        "or administrative action in it"
    )


@pytest.mark.parametrize("deployment", ["SCRATCH_1", "SCRATCH_2"])
def test_what_a_type_does_not_publish_does_not_stand_in_the_way(deployment: str) -> None:
    scratch = SYSTEM.model_copy(update={"deployment": deployment})
    without = [one for one in busy() if one.name.metric != "DiskIopsUtilization"]
    inputs = world(without, systems=listed(scratch))
    assert judged(inputs) == OUT
    words = f"DiskIopsUtilization is not published for {deployment}"
    assert words in (storage_evidence(inputs).ruled_out or "")


def test_nor_on_persistent_disks() -> None:
    hdd = SYSTEM.model_copy(update={"storage_type": "HDD", "deployment": "PERSISTENT_1"})
    without = [one for one in busy() if one.name.metric != "DiskIopsUtilization"]
    assert judged(world(without, systems=listed(hdd))) == OUT


@pytest.mark.parametrize(
    ("metrics", "unseen"),
    [
        pytest.param(
            [one for one in busy() if one.name.metric != "DiskIopsUtilization"],
            f"DiskIopsUtilization of {FS}",
            id="a family that should be there",
        ),
        pytest.param(
            busy({("NetworkThroughputUtilization", "OSS0001"): flat(20)}),
            f"FileServerDiskThroughputUtilization of {FS} on OSS0001",
            id="a server that another family has",
        ),
        pytest.param(
            busy({("DiskIopsUtilization", "OST0002"): flat(20)}),
            f"DiskIopsUtilization of {FS} on OST0001",
            id="a number left out between targets",
        ),
        pytest.param(
            busy({MDS: [*flat(9, 60), *flat(None, 10), *flat(9, 50)]}),
            f"CPUUtilization of {FS} on MDS0000: minutes without a datapoint",
            id="ten minutes without a datapoint",
        ),
        pytest.param([], f"FSx utilisation metrics of {FS}", id="no metrics at all"),
    ],
)
def test_what_is_missing_is_named_and_keeps_storage_open(
    metrics: list[object], unseen: str
) -> None:
    inputs = replaced(world(), series=tuple(metrics))
    evidence = storage_evidence(inputs)
    assert judged(inputs) == UNSEEN
    assert [one.what for one in evidence.deciding_unseen] == [unseen]


def test_a_denied_series_is_named_with_its_reason() -> None:
    denied = series(MDS[0], [], unit=server(MDS[1]), status=Status.UNVERIFIED, reason=Reason.DENIED)
    others = [one for one in busy() if one.name.metric != "CPUUtilization"]
    evidence = storage_evidence(world([*others, denied]))
    assert [(n.what, n.reason) for n in evidence.deciding_unseen] == [
        (f"CPUUtilization of {FS} on MDS0000", Reason.DENIED)
    ]
    assert evidence.ruled_out is None


def test_a_list_of_metrics_cut_short_rules_nothing_out() -> None:
    cut = gpu_listing(status=Status.PARTIAL)
    assert judged(world(listed=cut)) == UNSEEN


@pytest.mark.parametrize(
    "system",
    [
        pytest.param(
            SYSTEM.model_copy(
                update={"maintenance": SUNDAY.model_copy(update={"weekday": 3, "hour": 13})}
            ),
            id="a maintenance window in the covered time",
        ),
        pytest.param(SYSTEM.model_copy(update={"maintenance": None}), id="one that was not read"),
    ],
)
def test_maintenance_keeps_storage_from_being_ruled_out(system: FileSystem) -> None:
    assert storage_evidence(world(systems=listed(system))).ruled_out is None


def maintained(at: float, reads: list[float | None]) -> StorageInputs:
    weekly = SUNDAY.model_copy(update={"weekday": 3, "hour": 12, "minute": 40})
    system = SYSTEM.model_copy(update={"maintenance": weekly})
    failure = SLOW.model_copy(update={"at": minute(at), "slow_until": None})
    return world(busy({}, {READS: reads, WRITES: flat(0)}), failure=failure, systems=listed(system))


@pytest.mark.parametrize(
    ("at", "reads", "expected"),
    [
        pytest.param(44.5, with_run(6e9, 0, 44, 60), PROVEN, id="the stall and the bytes agree"),
        pytest.param(44.5, flat(6e9), LEADS, id="bytes that go on show no stall"),
        pytest.param(44.5, flat(None), LEADS, id="nor do bytes that were not read"),
        pytest.param(44.5, with_run(6e9, 0, 46, 60), LEADS, id="bytes that stop after the job"),
        pytest.param(44.5, with_run(6e9, 0, 44, 48), LEADS, id="four minutes are no stall"),
    ],
)
def test_a_stall_in_the_maintenance_window(
    at: float, reads: list[float | None], expected: tuple[BranchStatus, Label | None]
) -> None:
    assert judged(maintained(at, reads)) == expected


def test_a_failure_outside_the_maintenance_window_is_not_its_doing() -> None:
    assert storage_evidence(maintained(20, with_run(6e9, 0, 44, 60))).signals == ()


def test_an_action_that_runs_beside_is_a_hypothesis() -> None:
    action = AdministrativeAction(
        kind="STORAGE_OPTIMIZATION",
        status="IN_PROGRESS",
        requested_at=START - timedelta(hours=3),
        progress_percent=40,
    )
    inputs = world(systems=listed(SYSTEM.model_copy(update={"actions": (action,)})))
    assert judged(inputs) == LEADS
    assert only_signal(inputs).what == (
        f"{FS} has STORAGE_OPTIMIZATION IN_PROGRESS, asked for 2026-07-01 09:00Z, 40 % done"
    )


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(
            AdministrativeAction(
                kind="X", status="COMPLETED", requested_at=START - timedelta(days=2)
            ),
            id="over long ago",
        ),
        pytest.param(
            AdministrativeAction(kind="X", status="PENDING", requested_at=NOW), id="asked for later"
        ),
    ],
)
def test_other_actions_do_not_matter(action: AdministrativeAction) -> None:
    inputs = world(systems=listed(SYSTEM.model_copy(update={"actions": (action,)})))
    assert judged(inputs) == OUT


def test_a_file_system_that_cannot_be_mounted_explains_a_mount_failure() -> None:
    broken = SYSTEM.model_copy(update={"lifecycle": "MISCONFIGURED_UNAVAILABLE"})
    failure = SLOW.model_copy(update={"symptom": Symptom.MOUNT})
    assert judged(world(failure=failure, systems=listed(broken))) == PROVEN
    assert judged(world(systems=listed(broken))) == LEADS


def maxima(*pairs: tuple[str, float]) -> tuple[CleanSignals, ...]:
    return (CleanSignals(file="clean.json", fsx_max_percent=pairs),)


@pytest.mark.parametrize(
    ("pairs", "ruled_out"),
    [
        pytest.param(
            (("NetworkThroughputUtilization", 31.0), ("CPUUtilization_MDS", 12.5)),
            "FSx not saturated: NetworkThroughputUtilization max 31 %, CPUUtilization_MDS max "
            "12.5 % as read in clean.json, bar 90 % for 5 min",
            id="data and metadata below the bar",
        ),
        pytest.param((("NetworkThroughputUtilization", 31.0),), None, id="data alone"),
        pytest.param(
            (("NetworkThroughputUtilization", 31.0), ("CPUUtilization_MDS", 92.0)),
            None,
            id="one at the bar",
        ),
        pytest.param(
            (("NetworkThroughputUtilization", 31.0), ("CPUUtilization_MDS", 950.0)),
            None,
            id="one that is no percent",
        ),
    ],
)
def test_highest_values_that_somebody_wrote_down(
    pairs: tuple[tuple[str, float], ...], ruled_out: str | None
) -> None:
    inputs = world((), systems=listed(status=Status.NOT_CHECKED), maxima=maxima(*pairs))
    assert storage_evidence(inputs).ruled_out == ruled_out


@pytest.mark.parametrize(
    ("status", "expected", "unseen"),
    [
        pytest.param(Status.OK_EMPTY, BranchStatus.NOT_ASSESSED, [], id="there is none"),
        pytest.param(
            Status.UNVERIFIED,
            BranchStatus.NOT_OBSERVABLE,
            ["FSx for Lustre file systems of the account"],
            id="the list was denied",
        ),
    ],
)
def test_without_a_file_system(status: Status, expected: BranchStatus, unseen: list[str]) -> None:
    inputs = world((), systems=listed(status=status))
    assert judged(inputs)[0] is expected
    assert [n.what for n in storage_evidence(inputs).deciding_unseen] == unseen


def test_a_file_system_that_only_metrics_name_is_judged_but_not_ruled_out() -> None:
    denied = listed(status=Status.UNVERIFIED)
    assert judged(world(systems=denied)) == UNSEEN
    assert judged(world(THROUGHPUT, systems=denied)) == LEADS


def test_actions_fit_what_it_is_bound_by() -> None:
    throughput = " ".join(storage_evidence(world(THROUGHPUT)).actions)
    metadata = " ".join(storage_evidence(world(METADATA)).actions)
    assert "stagger or shard checkpoint writes" in throughput
    assert f"raise the throughput of {FS}" in throughput
    assert "pack small files into shards" in metadata
    assert "AUTOMATIC" in metadata
    assert "raise the throughput" not in metadata


def test_the_timeline_has_runs_rises_power_and_planned_maintenance() -> None:
    weekly = SUNDAY.model_copy(update={"weekday": 3, "hour": 14, "minute": 10})
    power = with_run(75, 25, 40, 80)
    inputs = world(
        METADATA,
        systems=listed(SYSTEM.model_copy(update={"maintenance": weekly})),
        gpu=(gpu("i-0aaa0000000000001", 0, power),),
    )
    events = storage_timeline(inputs)
    assert [(e.at, e.kind, e.code) for e in events] == [
        (minute(36), EventKind.SEEN, "fsx CPUUtilization MDS0000"),
        (minute(36), EventKind.SEEN, "fsx metadata rise"),
        (minute(40), EventKind.SEEN, "gpu power fall"),
        (minute(80), EventKind.SEEN, "gpu power rise"),
        (minute(130), EventKind.PLANNED, "fsx maintenance"),
    ]
    assert events[0] == TimelineEvent(
        at=minute(36),
        precision_seconds=60,
        until=minute(80),
        source="fsx",
        what=f"{FS} MDS0000 CPUUtilization 98.7 % for 44 min, bar 90 % for 5 min",
        resource=FS,
        code="fsx CPUUtilization MDS0000",
        evidence=("ev-CPUUtilization",),
    )


def test_the_window_that_must_be_seen_begins_half_an_hour_before_the_failure() -> None:
    inputs = world()
    assert inputs.cover.start == SLOW_AT - timedelta(minutes=30)
    assert replace(inputs, failure=Failure(symptom=Symptom.SLOW)).cover == WINDOW
