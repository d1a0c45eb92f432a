"""Lines that speak of storage: paths, mounts, refusals, stripes, client timings."""

from datetime import UTC, datetime

import pytest

from gpuvet.model.storage import MentionKind, StatTiming, StorageMention, StripeLayout
from gpuvet.parse.job_steps import JobLine
from gpuvet.parse.storage_lines import stat_timings, storage_mentions, stripe_layouts

NOW = datetime(2026, 7, 3, tzinfo=UTC)
FS = "fs-0123456789abcdef0"


def lines(text: str) -> list[JobLine]:
    return [JobLine(one, "job.log", i) for i, one in enumerate(text.splitlines(), start=1)]


def mentions(text: str, *points: str) -> list[StorageMention]:
    return list(storage_mentions(lines(text), reference=NOW, mount_points=points))


@pytest.mark.parametrize(
    ("text", "kinds", "found"),
    [
        pytest.param(
            "dataset shard switched: /fsx/webimg (loose JPEG)",
            [MentionKind.PATH],
            {"path": "/fsx/webimg"},
            id="a path by its name",
        ),
        pytest.param(
            "checkpoint save start step 4270 path /mnt/lustre/ckpt",
            [MentionKind.PATH, MentionKind.CHECKPOINT],
            {"path": "/mnt/lustre/ckpt"},
            id="a checkpoint",
        ),
        pytest.param(
            "OSError: [Errno 28] No space left on device: '/fsx/a/step_1.pt'",
            [MentionKind.PATH, MentionKind.NO_SPACE],
            {"path": "/fsx/a/step_1.pt"},
            id="a refusal on the mount",
        ),
        pytest.param(
            "torch.save failed: No space left on device: /mnt/data/x.pt",
            [MentionKind.NO_SPACE],
            {"path": "/mnt/data/x.pt"},
            id="a refusal elsewhere",
        ),
        pytest.param(
            f"{FS}.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh on /fsx type lustre (rw)",
            [MentionKind.PATH, MentionKind.FILE_SYSTEM, MentionKind.MOUNT],
            {
                "path": "/fsx",
                "file_system": FS,
                "mount_name": "abcdefgh",
                "mount_point": "/fsx",
            },
            id="a mount by DNS name",
        ),
        pytest.param(
            "10.5.0.4@tcp:/abcdefgh on /data type lustre",
            [MentionKind.MOUNT],
            {"mount_name": "abcdefgh", "mount_point": "/data"},
            id="a mount by address",
        ),
        pytest.param(
            f"volumeHandle: {FS}",
            [MentionKind.FILE_SYSTEM],
            {"file_system": FS},
            id="a volume of a manifest",
        ),
        pytest.param(
            "LustreError: abcdefgh-OST000a-osc: operation ost_write failed: rc = -28",
            [MentionKind.NO_SPACE],
            {"target": 10},
            id="a target in hexadecimal",
        ),
    ],
)
def test_a_line_mentions(text: str, kinds: list[MentionKind], found: dict[str, object]) -> None:
    expected = StorageMention.model_validate(
        {"kinds": tuple(kinds), "source": "job.log", "line": 1, "raw": text, **found}
    )
    assert mentions(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("step 3 time 1s", id="nothing"),
        pytest.param("see https://docs.example.com/fsx/lustre", id="an address of a page"),
        pytest.param("fs-xyz is no id", id="no id"),
        pytest.param("reading /data/a", id="a path of unknown kind"),
    ],
)
def test_a_line_mentions_nothing(text: str) -> None:
    assert mentions(text) == []


def test_a_path_under_a_known_mount_point_is_on_the_mount() -> None:
    (found,) = mentions("reading /data/a/b.tar", "/data")
    assert (found.kinds, found.path) == ((MentionKind.PATH,), "/data/a/b.tar")
    assert mentions("reading /database/a", "/data") == []


def test_stripes_of_a_table_and_of_a_composite_layout() -> None:
    text = """$ lfs getstripe /fsx/ckpt/a.pt
/fsx/ckpt/a.pt
lmm_stripe_count:  2
lmm_stripe_offset: 3
\tobdidx\t objid\t objid\t group
\t     3\t 2034\t 0x7f2\t 0
\t     1\t 2035\t 0x7f3\t 0
/fsx/ckpt/b.pt
  lmm_objects:
  - 0: { lmm_oi: 1, l_ost_idx: 2, l_fid: [0x1] }"""
    assert list(stripe_layouts(lines(text))) == [
        StripeLayout(path="/fsx/ckpt/a.pt", targets=(1, 3), source="job.log", line=1),
        StripeLayout(path="/fsx/ckpt/b.pt", targets=(2,), source="job.log", line=8),
    ]


def test_no_layout_without_targets() -> None:
    assert list(stripe_layouts(lines("$ lfs getstripe /fsx/a\nerror: no such file"))) == []


def timing(path: str, seconds: float, before: float | None, text: str, at: str | None) -> object:
    return StatTiming(
        path=path,
        seconds=seconds,
        before_seconds=before,
        at_words=at,
        measured=False,
        source="job.log",
        line=1,
        raw=text,
    )


@pytest.mark.parametrize(
    ("text", "path", "seconds", "before", "at"),
    [
        pytest.param(
            "13:31Z: time stat /fsx/a/x.jpg -> real 0m0.412s (was 0m0.002s at 12:20Z)",
            "/fsx/a/x.jpg",
            0.412,
            0.002,
            "13:31Z",
            id="with what it was",
        ),
        pytest.param("stat /fsx/a: 412 ms", "/fsx/a", 0.412, None, None, id="in milliseconds"),
        pytest.param("open of /fsx/b took 1m2.5s", "/fsx/b", 62.5, None, None, id="in minutes"),
    ],
)
def test_a_client_timing(
    text: str, path: str, seconds: float, before: float | None, at: str | None
) -> None:
    (found,) = stat_timings(lines(text), measured=False)
    assert found.seconds == pytest.approx(seconds)
    assert found.model_copy(update={"seconds": seconds}) == timing(path, seconds, before, text, at)


def test_the_time_of_a_command_stands_below_it() -> None:
    text = "$ time stat /fsx/a\n  File: /fsx/a\n  Size: 3\n\nreal\t0m0.500s\nuser\t0m0.001s"
    (found,) = stat_timings(lines(text), measured=True)
    assert (found.path, found.seconds, found.measured, found.line) == ("/fsx/a", 0.5, True, 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("time stat /fsx/a", id="no time"),
        pytest.param("stat /fsx/a -> 412", id="no unit"),
        pytest.param("real 0m0.412s", id="no file"),
    ],
)
def test_this_is_no_client_timing(text: str) -> None:
    assert list(stat_timings(lines(text), measured=True)) == []
