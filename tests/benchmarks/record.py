"""A recording of a big fleet: with stand-ins, and read back, against a zip of the plain replies."""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from fleet import node_id

from benchmarks.measure import interleaved, peak_rss_mib, report, say
from gpuvet.case.container import Container
from gpuvet.case.recording import read_recording
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.target import Target
from gpuvet.record.archive import Recording, write_recording
from gpuvet.record.heading import Heading
from gpuvet.record.tape import Tape

_ACCOUNT, _GROUP = "111122223333", "/customer/train-a/kernel"
_PAGE = 10_000


def run(*, nodes: int, hours: int, runs: int) -> None:
    """Print the medians of writing and reading one recording."""
    recording = _recording(nodes, hours)
    folder = Path(tempfile.mkdtemp())
    plain, safe = folder / "plain.zip", folder / "case.zip"
    say(f"record: {nodes:,} nodes x {hours} h, {len(recording.readings)} reads, {runs} runs each")
    actions = {
        "zip of the plain replies": lambda: _write(recording, plain, None),
        "with stand-ins": lambda: _write(recording, safe, b"a key of sixteen bytes or more"),
        "read back": lambda: read_recording(Container(safe)),
    }
    report(interleaved(actions, runs), "zip of the plain replies")
    say(f"{safe.stat().st_size / 2**20:.1f} MiB, peak RSS {peak_rss_mib():.0f} MiB")


def _write(recording: Recording, path: Path, key: bytes | None) -> None:
    write_recording(recording, path, evidence={}, key=key)


def _recording(nodes: int, hours: int) -> Recording:
    tape = Tape()
    for operation, params, pages in _replies(nodes, hours):
        service, _, name = operation.partition(":")
        answer = Envelope[tuple[Mapping[str, Any], ...]](
            service=service,
            operation=name,
            account=_ACCOUNT,
            region="us-west-2",
            status=Status.OK,
            value=pages,
            pages=len(pages),
        )
        tape.take("aws", operation, params, answer)
    now = datetime(2026, 3, 16, tzinfo=UTC)
    target = Target(cluster="train-a")
    heading = Heading(gpuvet="0", redacted=False, now=now, account=_ACCOUNT, target=target)
    return Recording(heading, tape.readings)


def _replies(nodes: int, hours: int) -> Iterator[tuple[str, Mapping[str, Any], tuple[Any, ...]]]:
    ids = [node_id(number) for number in range(nodes)]
    summaries = [{"InstanceId": one, "InstanceGroupName": "workers-a"} for one in ids]
    yield (
        "sagemaker:ListClusterNodes",
        {"ClusterName": "train-a"},
        _paged("ClusterNodeSummaries", summaries, 100),
    )
    instances = [_instance(number, one) for number, one in enumerate(ids)]
    yield "ec2:DescribeInstances", {}, ({"Reservations": [{"Instances": instances}]},)
    rows = [_row(one, hour) for one in ids for hour in range(hours)]
    for place in range(0, len(rows), 10 * _PAGE):
        query = {"queryId": f"{place:08d}-1111-4111-8111-111111111111"}
        yield "logs:GetQueryResults", query, _paged("results", rows[place : place + 10 * _PAGE])
    chance = Random(1)  # noqa: S311 (the same lines every time)
    lines = [_line(number, one, chance) for number, one in enumerate(ids) for _ in range(3)]
    yield "logs:GetQueryResults", {"queryId": "lines"}, _paged("results", lines)


def _paged(member: str, rows: list[Any], size: int = _PAGE) -> tuple[Any, ...]:
    return tuple({member: rows[at : at + size]} for at in range(0, len(rows), size))


def _instance(number: int, node: str) -> dict[str, Any]:
    address = f"10.{number // 65536 + 1}.{number // 256 % 256}.{number % 256}"
    return {
        "InstanceId": node,
        "PrivateIpAddress": address,
        "PrivateDnsName": f"ip-{address.replace('.', '-')}.us-west-2.compute.internal",
        "NetworkInterfaces": [
            {"NetworkInterfaceId": f"eni-0{number:012x}{n:04x}"} for n in range(4)
        ],
    }


def _row(node: str, hour: int) -> list[dict[str, str]]:
    day = f"2026-03-{9 + hour // 24:02d} {hour % 24:02d}:00:00.000"
    cells = {"@log": f"{_ACCOUNT}:{_GROUP}", "@logStream": f"kernel/{node}", "hour": day}
    return [{"field": k, "value": v} for k, v in (cells | {"lines": "41"}).items()]


def _line(number: int, node: str, chance: Random) -> list[dict[str, str]]:
    text = (
        f"Mar  9 04:11:58 {_instance(number, node)['PrivateDnsName'].partition('.')[0]} kernel: "
        f"[{chance.random() * 1e6:.6f}] NVRM: Xid (PCI:0000:53:00): 79, pid={number}, name=python"
    )
    return [
        {"field": "@logStream", "value": f"kernel/{node}"},
        {"field": "@message", "value": text},
    ]
