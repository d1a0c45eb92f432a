"""Whatever names somebody or opens something, wherever it stands in a reply, is not in the zip."""

import base64
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import botocore.session
import pytest
from recordings import KEY

from gpuvet.aws.reads import READS
from gpuvet.model.evidence import Envelope, Status
from gpuvet.model.target import Target
from gpuvet.record.archive import Recording, write_recording
from gpuvet.record.heading import Heading
from gpuvet.record.members import LABEL_OBJECTS, MASKED, NAMES, PATHS, TOKENS
from gpuvet.record.tape import Tape
from gpuvet.record.walk import Role, role_of

ACCOUNT, OTHER = "123456789012", "111122223333"
UUID, SERIAL = "5fd4f087-86f3-7a43-b711-4771313afc50", "1320723019283"
CLUSTER, PERSON, ROLE = "zorblax-prod", "quillon.vex", "ZorblaxOperators"
IDENTIFIERS = (
    *(ACCOUNT, OTHER, CLUSTER, PERSON, ROLE),
    *("i-0f3c9a7be21d45680", "eni-0f3c9a7be21d45681", "subnet-0f3c9a7be21d45682"),
    *("vpc-0f3c9a7be21d45683", "sg-0f3c9a7be21d45684", "fs-0f3c9a7be21d45685"),
    *("cr-0f3c9a7be21d45686", "ami-0f3c9a7be21d45687", "vol-0f3c9a7be21d45688", "i-9a7be21d"),
    *("10.61.43.117", "ip-10-61-43-117", "54.183.220.97", "172.31.9.214", "100.71.3.9"),
    *("2600:1f14:9c2:be02::7a1", "0e:9d:41:c7:5b:a2", "fd12:3456:789a:1::42"),
    *(UUID, SERIAL, "AROAQ7ZEXAMPLEVEX42K"),
    *("gpu-rack7.zorblax.example.com", "quillon.vex@zorblax.io", "zorblax-images/llm-trainer"),
    *("vexling-nightly", "s3://zorblax-bucket", "zorblax-bucket", "hq7tw2m9x4cd"),
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
)
SECRETS = (
    *("AKIAQ7ZEXAMPLEVEX42K", "ASIAQ7ZEXAMPLEVEX42K", "hf_QuillonVexQuillonVexQ"),
    *("ghp_QuillonVexQuillonVexQuillonVex01", "sk-quillonvexquillonvexquillon"),
    *(
        "QuillonVexBearerToken0123456789",
        "d41d8cd98f00signature",
        "VexPassw0rd!x",
        "MIIEquillonvex",
    ),
    *("wandbkey0a1b2c3d", "startupscriptvex"),
)
SCRIPT = base64.b64encode(b"#!/bin/bash\nexport LOGIN=startupscriptvex\n").decode()
ARN = f"arn:aws:sts::{ACCOUNT}:assumed-role/{ROLE}/{PERSON}"
IMAGE = f"{OTHER}.dkr.ecr.us-west-2.amazonaws.com/zorblax-images/llm-trainer:vexling-nightly"
LINE = (
    f"Mar  2 04:11:58 gpu-rack7.zorblax.example.com kernel: {' '.join(IDENTIFIERS[5:23])} "
    f"GPU-{UUID} Serial Number: {SERIAL} AROAQ7ZEXAMPLEVEX42K by {ARN} "
    f"arn:aws:sagemaker:us-west-2:{ACCOUNT}:cluster/hq7tw2m9x4cd mail "
    f"quillon.vex@zorblax.io image {IMAGE} sha256:{IDENTIFIERS[-1]} s3://zorblax-bucket/run/1 "
    f"cluster {CLUSTER}; Authorization: Bearer {SECRETS[5]} {SECRETS[0]} {SECRETS[1]} {SECRETS[2]} "
    f"{SECRETS[3]} {SECRETS[4]} https://x.s3.amazonaws.com/a?X-Amz-Signature={SECRETS[6]}&b=1 "
    f"password={SECRETS[7]} export WANDB_LOGIN={SECRETS[9]} {SCRIPT} "
    f"-----BEGIN RSA PRIVATE KEY-----{SECRETS[8]}-----END RSA PRIVATE KEY-----"
)
# The same in the encodings that logs and consoles put names into.
ENCODED = (
    f"\x1b[31m{CLUSTER}\x1b[0m at \x1b[1;33mi-0f3c9a7be21d45680\x1b[0m",
    f"{quote('/x/' + CLUSTER + '/' + PERSON, safe='')} $252F{CLUSTER}$252Fi-0f3c9a7be21d45680",
    f"one#012{CLUSTER}#012{PERSON} two\\n{CLUSTER}\\ti-0f3c9a7be21d45680\\n{PERSON}",
    json.dumps({"message": LINE, "userName": PERSON, "deep": json.dumps({"cluster": CLUSTER})}),
    json.dumps({"env": [{"name": "DB_LOGIN", "value": SECRETS[9]}], "userData": SCRIPT}),
    json.dumps({"cluster": CLUSTER}).replace("-", "\\u002d"),
    f"[{PERSON}@{CLUSTER}] ({ROLE}) '{CLUSTER}' \"{CLUSTER}\" `{CLUSTER}`={CLUSTER};{CLUSTER}",
)
TEXT = "\n".join((LINE, *ENCODED))


class Planter:
    """Fills a reply with what must not be found again."""

    def __init__(self) -> None:
        self.planted: list[str] = []
        self.texts = 0

    def reply(self, shape: Any, member: str = "", depth: int = 0) -> Any:  # noqa: ANN401 (any of botocore's shapes)
        """Return a value of a shape, all its members set."""
        kind = shape.type_name
        if kind == "structure":
            if depth > 12:
                return {}
            return {n: self.reply(m, n, depth + 1) for n, m in shape.members.items()}
        if kind == "list":
            return [self.reply(shape.member, member, depth + 1)]
        if kind == "map":
            owner = "UserName" if member in LABEL_OBJECTS else ""
            return {f"{self._name()}.io/owner": self.reply(shape.value, owner, depth + 1)}
        if kind == "string":
            return self._text(shape, member)
        return _plain(kind)

    def _name(self) -> str:
        # No two of them share a word.
        letters = "".join(chr(ord("a") + int(d)) for d in f"{len(self.planted):03d}")
        name = f"wyx{letters}q-vur{letters}z"
        self.planted.append(name)
        return name

    def _text(self, shape: Any, member: str) -> str:  # noqa: ANN401 (any of botocore's shapes)
        if shape.enum:
            return str(shape.enum[0])
        if member in NAMES:
            return self._name()
        if member in PATHS:
            return f"/aws/{self._name()}/kernel"
        if member in MASKED or member in TOKENS:
            return SECRETS[7]
        self.texts += 1
        return TEXT if self.texts % 20 == 1 else ENCODED[self.texts % len(ENCODED)]


def _plain(kind: str) -> object:
    return {
        "timestamp": datetime(2026, 3, 2, tzinfo=UTC),
        "boolean": True,
        "blob": TEXT.encode(),
        "float": 1.5,
        "double": 1.5,
    }.get(kind, 7)


def shapes() -> Iterator[tuple[str, Any]]:
    """Yield every read with the shape of its reply."""
    session = botocore.session.Session()
    for row in READS.values():
        model = session.get_service_model(row.service)
        yield row.operation, model.operation_model(row.name).output_shape


def answered(operation: str, page: dict[str, Any]) -> Envelope[tuple[Any, ...]]:
    """Return a reply as a door gives it."""
    service, _, name = operation.partition(":")
    return Envelope[tuple[Any, ...]](
        service=service, operation=name, account=ACCOUNT, status=Status.OK, value=(page,), pages=1
    )


def unpacked(path: Path) -> bytes:
    """Return every byte of a zip's members and of their names, and the zip's own."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        parts = [path.read_bytes(), *(n.encode() for n in names), *(archive.read(n) for n in names)]
    return b"\n".join(parts)


def heading() -> Heading:
    """Return a question that names people too."""
    return Heading(
        gpuvet="0",
        redacted=False,
        now=datetime(2026, 3, 2, tzinfo=UTC),
        account=ACCOUNT,
        region="us-west-2",
        question=f"Why did {CLUSTER} die, asks {PERSON} with {SECRETS[0]}? {LINE}",
        target=Target(cluster=CLUSTER),
        ended=f"refused: {LINE}",
        given=(("failure_at", TEXT),),
    )


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Planter, bytes]:
    """Return what was planted in a reply of every read, and the bytes of its recording."""
    planter, tape = Planter(), Tape()
    for operation, shape in shapes():
        planter.texts = 0
        page: dict[str, Any] = {} if shape is None else planter.reply(shape)
        tape.take("aws", operation, {"any": TEXT}, answered(operation, page))
    path = tmp_path_factory.mktemp("planted") / "case.zip"
    write_recording(Recording(heading(), tape.readings), path, evidence={}, key=KEY)
    return planter, unpacked(path)


def test_every_read_on_the_list_was_planted() -> None:
    assert {operation for operation, _ in shapes()} == set(READS)


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_no_identifier_is_in_the_recording(
    identifier: str, everything: tuple[Planter, bytes]
) -> None:
    assert identifier.encode() not in everything[1]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_is_in_the_recording(secret: str, everything: tuple[Planter, bytes]) -> None:
    assert secret.encode() not in everything[1]


def test_no_name_is_in_the_recording_whatever_member_it_stood_in(
    everything: tuple[Planter, bytes],
) -> None:
    planter, data = everything
    assert len(planter.planted) > 100
    assert [name for name in planter.planted if name.encode() in data] == []


def strings(shape: Any, member: str = "", seen: frozenset[str] = frozenset()) -> Iterator[str]:  # noqa: ANN401 (any of botocore's shapes)
    """Yield the members of a shape that hold free strings."""
    if shape.type_name == "structure" and shape.name not in seen:
        for name, inner in shape.members.items():
            yield from strings(inner, name, seen | {shape.name})
    elif shape.type_name == "list":
        yield from strings(shape.member, member, seen)
    elif shape.type_name == "string" and not shape.enum:
        yield member


def test_every_member_of_every_reply_is_known_as_a_name_or_as_text() -> None:
    text = set((Path(__file__).parent / "text_members.txt").read_text(encoding="utf-8").split())
    found = {name for _, shape in shapes() if shape is not None for name in strings(shape)}
    decided = {name for name in found if role_of(name) is not Role.TEXT} | MASKED | TOKENS
    assert sorted(found - decided - text) == []
    assert sorted(text & decided) == []
    assert sorted(text - found) == []


POD = {
    "metadata": {
        "name": "wyxpod-0",
        "namespace": "wyxspace",
        "labels": {"app": "wyxlabel", "wyxlabelkey": "x"},
        "annotations": {"note": f"by {PERSON}"},
        "ownerReferences": [{"kind": "Job", "name": "wyxjob"}],
    },
    "spec": {
        "nodeName": "wyxhost.internal",
        "serviceAccountName": "wyxrobot",
        "containers": [
            {
                "name": "wyxbox",
                "image": IMAGE,
                "command": ["sh", "-c", f"export TOKENLESS={SECRETS[9]}; train --key {SECRETS[0]}"],
                "env": [{"name": "LOGIN", "value": SECRETS[9]}],
            }
        ],
    },
    "status": {"podIP": "10.61.43.117", "hostIP": "54.183.220.97"},
}
SERIES = {
    "metric": {
        "__name__": "DCGM_FI_DEV_XID_ERRORS",
        "Hostname": "wyxhost2",
        "UUID": f"GPU-{UUID}",
        "pod": "wyxpod-0",
        "namespace": "wyxspace",
        "exported_job": "wyxjob2",
        "instance": "10.61.43.117:9400",
    },
    "values": [[1772409600, "79"]],
}


def test_other_doors_give_nobody_away_either(tmp_path: Path) -> None:
    tape = Tape()
    tape.take("aws", "kubernetes:ListPods", {}, answered("kubernetes:ListPods", {"items": [POD]}))
    page = {"data": {"result": [SERIES]}}
    query = {"query": f'DCGM_FI_DEV_XID_ERRORS{{pod="wyxpod-0",instance="{IDENTIFIERS[15]}:9400"}}'}
    tape.take("aws", "prometheus:QueryRange", query, answered("prometheus:QueryRange", page))
    path = tmp_path / "case.zip"
    write_recording(Recording(heading(), tape.readings), path, evidence={}, key=KEY)
    data = unpacked(path)
    whole = (b"wyx", UUID.encode(), *(one.encode() for one in (*IDENTIFIERS[15:18], *SECRETS)))
    assert [one for one in whole if one in data] == []
    assert b"DCGM_FI_DEV_XID_ERRORS" in data


def test_no_secret_is_in_the_map_that_stays_at_home(tmp_path: Path) -> None:
    tape = Tape()
    page = {"Events": [{"CloudTrailEvent": TEXT, "Username": f"vex {SECRETS[0]}"}]}
    tape.take("aws", "cloudtrail:LookupEvents", {}, answered("cloudtrail:LookupEvents", page))
    recording = Recording(heading(), tape.readings)
    written = write_recording(recording, tmp_path / "case.zip", evidence={}, key=KEY)
    assert written.map is not None
    kept = written.map.read_text(encoding="utf-8")
    assert CLUSTER in kept
    assert [secret for secret in SECRETS if secret in kept] == []


def test_an_error_message_that_was_cut_gives_nobody_away(tmp_path: Path) -> None:
    tape = Tape()
    for end in range(20, len(ARN) + 30):
        note = f"User: {ARN} is not authorized …"[:end] + " …[cut]"
        denied = Envelope[tuple[Any, ...]](
            service="fsx", operation="DescribeFileSystems", status=Status.UNVERIFIED, notes=(note,)
        )
        tape.take("aws", "fsx:DescribeFileSystems", {"n": end}, denied)
    path = tmp_path / "case.zip"
    write_recording(Recording(heading(), tape.readings), path, evidence={}, key=KEY)
    data = unpacked(path)
    whole = (ACCOUNT, ROLE, PERSON)
    begun = [part[:n] for part in whole for n in range(5, len(part) + 1)]
    assert [part for part in begun if f"{part} …[cut]".encode() in data] == []
