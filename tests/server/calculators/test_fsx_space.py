"""One full storage target beside roomy ones, and writes that it refuses."""

import pytest
from storage_world import (
    FS,
    PATH,
    SLOW,
    SYSTEM,
    busy,
    flat,
    listed,
    minute,
    series,
    target,
    world,
)

from gpuvet.calculators.branch_storage import storage_evidence
from gpuvet.calculators.ranking import rank_branches
from gpuvet.calculators.storage_inputs import StorageInputs
from gpuvet.model.cause import BranchStatus, Label, Symptom
from gpuvet.model.metrics import TimeSeries
from gpuvet.model.storage import MentionKind, StorageMention, StripeLayout

_TARGET_BYTES = 4800 * 1024**3 / 4
CRASH = SLOW.model_copy(update={"symptom": Symptom.CRASH, "at": minute(60), "slow_until": None})


def free(*percents: float) -> tuple[TimeSeries, ...]:
    return tuple(
        series(
            "FreeDataStorageCapacity",
            flat(percent / 100 * _TARGET_BYTES),
            unit=target(f"OST{i:04x}"),
            stat="Minimum",
        )
        for i, percent in enumerate(percents)
    )


def refused(
    path: str = "/fsx/ckpt/a.pt", at: float = 60, index: int | None = None
) -> StorageMention:
    return StorageMention(
        kinds=(MentionKind.PATH, MentionKind.NO_SPACE),
        at=minute(at),
        path=path,
        target=index,
        source="job.log",
        line=7,
        raw=f"OSError: [Errno 28] No space left on device: {path}",
        evidence="ev-job",
    )


def stripe(path: str, *targets: int) -> StripeLayout:
    return StripeLayout(path=path, targets=targets, source="node.txt", line=1)


def full(*mentions: StorageMention, stripes: tuple[StripeLayout, ...] = ()) -> StorageInputs:
    return world(
        (*busy(), *free(40, 40, 40, 4)),
        failure=CRASH,
        mentions=(PATH, *mentions),
        stripes=stripes,
    )


def judged(inputs: StorageInputs) -> tuple[BranchStatus, Label | None]:
    row = rank_branches([storage_evidence(inputs)], inputs.failure).branches[2]
    return row.status, row.label


def test_a_refused_write_to_a_stripe_on_the_full_target_is_proven() -> None:
    inputs = full(refused(), stripes=(stripe("/fsx/ckpt/a.pt", 1, 3),))
    (signal,) = storage_evidence(inputs).signals
    assert judged(inputs) == (BranchStatus.ROOT_CAUSE, Label.PROVEN)
    assert signal.what == (
        f"{FS} is unbalanced: OST0003 4.0 % free at 12:00Z while the median target has 40.0 %; "
        "bars 10 % and 20 %; ENOSPC on /fsx/ckpt/a.pt whose stripe lies there (OSError: "
        "[Errno 28] No space left on device: /fsx/ckpt/a.pt)"
    )
    assert signal.evidence == ("ev-FreeDataStorageCapacity", "ev-job")


def test_so_is_a_refusal_that_names_the_target() -> None:
    assert judged(full(refused(index=3))) == (BranchStatus.ROOT_CAUSE, Label.PROVEN)


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(full(), id="nothing was refused"),
        pytest.param(full(refused()), id="the stripe was not read"),
        pytest.param(full(refused(), stripes=(stripe("/fsx/b", 3),)), id="another file's stripe"),
        pytest.param(
            full(refused(), stripes=(stripe("/fsx/ckpt/a.pt", 0),)), id="a stripe on a roomy target"
        ),
        pytest.param(full(refused(index=1)), id="a roomy target is named"),
    ],
)
def test_an_imbalance_alone_is_a_hypothesis(inputs: StorageInputs) -> None:
    (signal,) = storage_evidence(inputs).signals
    assert judged(inputs) == (BranchStatus.LEADING_HYPOTHESIS, Label.HYPOTHESIS)
    assert signal.confirming == "lfs getstripe of the file that could not be written"


@pytest.mark.parametrize(
    "percents",
    [
        pytest.param((40, 40, 40, 10), id="ten percent is not below ten"),
        pytest.param((19, 19, 19, 4), id="a median below twenty is a full file system"),
        pytest.param((40, 40, 40, 40), id="all alike"),
    ],
)
def test_this_is_no_imbalance(percents: tuple[float, ...]) -> None:
    assert storage_evidence(world((*busy(), *free(*percents)))).signals == ()


@pytest.mark.parametrize(
    "metrics",
    [
        pytest.param(free(40, 40, 40, 4)[1:], id="a target is missing, so its share is unknown"),
        pytest.param(free(40, 40, 40, 4), id="the capacity is not in the reply"),
    ],
)
def test_without_the_size_of_a_target_nothing_is_said(metrics: tuple[TimeSeries, ...]) -> None:
    unknown = listed(SYSTEM.model_copy(update={"capacity_gib": None}))
    systems = unknown if len(metrics) == 4 else None
    assert storage_evidence(world((*busy(), *metrics), systems=systems)).signals == ()


def test_a_refused_write_without_an_imbalance_is_a_hypothesis() -> None:
    inputs = world((*busy(), *free(40, 40, 40, 40)), failure=CRASH, mentions=(refused(),))
    (signal,) = storage_evidence(inputs).signals
    assert (signal.kind, signal.hypothesis_only) == ("fsx_no_space", True)
    assert judged(inputs) == (BranchStatus.LEADING_HYPOTHESIS, Label.HYPOTHESIS)


def test_an_imbalance_after_the_refusal_does_not_explain_it() -> None:
    late = [
        one.model_copy(update={"start": minute(90), "values": one.values[:20]})
        for one in free(40, 40, 40, 4)
    ]
    inputs = world((*busy(), *late), failure=CRASH, mentions=(PATH, refused(index=3)))
    assert judged(inputs)[0] is not BranchStatus.ROOT_CAUSE


def test_the_free_space_is_a_fact() -> None:
    facts = storage_evidence(world((*busy(), *free(40, 41, 42, 39)))).facts
    assert (
        "FreeDataStorageCapacity: lowest 39.0 % free (OST0003), median 40.5 % of 4 storage "
        "targets; bars 10 % and 20 %" in facts
    )
