"""`--record` on the command line, and `--case` with `--map` after it.

Most of it is asked of an account that refuses everything, each time with a message that names
people; once it is moto's server, where there is something to read.
"""

import json
import stat
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aws.wire import Http, http, keys, no_machine, response
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from live.test_moto import account, client, running, server

from gpuvet.case import load_case
from gpuvet.cli import main
from gpuvet.modes.verdict import verdict_report
from gpuvet.modes.window import Asked

__all__ = ["account", "http", "keys", "no_machine", "server"]

REGION = "us-west-2"
ACCOUNT = "123456789012"
NODE = "i-0aa11bb22cc33dd44"
GROUP = "/customer/zorblax-prod/kernel"
REFUSED = f"User: arn:aws:iam::{ACCOUNT}:user/zorblax.alice is not authorized to perform this"
JSON = ["--format", "json"]

_IDENTITY = (
    "<GetCallerIdentityResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'>"
    f"<GetCallerIdentityResult><Arn>arn:aws:iam::{ACCOUNT}:user/zorblax.alice</Arn>"
    f"<UserId>AIDAZORBLAXZORBLAX23</UserId><Account>{ACCOUNT}</Account>"
    "</GetCallerIdentityResult></GetCallerIdentityResponse>"
)
_EC2 = (
    "<Response><Errors><Error><Code>UnauthorizedOperation</Code>"
    f"<Message>{REFUSED}</Message></Error></Errors></Response>"
)


def refuse(request: AWSPreparedRequest) -> AWSResponse:
    """Say who asks, and refuse everything else."""
    url, sent = str(request.url), {k.lower(): v for k, v in request.headers.items()}
    if "//sts." in url:
        return response(200, _IDENTITY.encode())
    if "//ec2." in url:
        return response(403, _EC2.encode())
    if b"cbor" in _bytes(sent.get("content-type")):
        body = b"\xa2" + _cbor("__type") + _cbor("AccessDeniedException")
        answered = {"Content-Type": "application/cbor", "smithy-protocol": "rpc-v2-cbor"}
        return response(400, body + _cbor("message") + _cbor(REFUSED), answered)
    body = json.dumps({"__type": "AccessDeniedException", "message": REFUSED}).encode()
    return response(403, body, {"x-amzn-ErrorType": "AccessDeniedException"})


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _cbor(text: str) -> bytes:
    return b"\x78" + bytes([len(text)]) + text.encode()


@pytest.fixture
def refusing(
    http: Http,
    keys: Path,  # noqa: ARG001 (made-up keys are in force)
    monkeypatch: pytest.MonkeyPatch,
) -> list[AWSPreparedRequest]:
    """Put an account in force that refuses everything; return what is sent to it."""
    monkeypatch.setenv("AWS_REGION", REGION)
    return http(refuse)


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return the JSON that was printed, without what moto's server prints, and stderr."""
    out, err = capsys.readouterr()
    return out[out.index("{\n") :], err


def unpacked(path: Path) -> bytes:
    """Return every byte of a zip's members and of their names."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        return b"\n".join([*(n.encode() for n in names), *(archive.read(n) for n in names)])


def replayed(
    command: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[tuple[int, str], tuple[int, str]]:
    """Return exit code and JSON of a recording as it is, and with its map."""
    again = [command, "--case", str(kept), *JSON]
    code = main(again)
    plain = code, printed(capsys)[0]
    code = main([*again, "--map", str(kept.with_name("case.map.json"))])
    return plain, (code, printed(capsys)[0])


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize(
    ("command", "which"),
    [
        *((c, ["--cluster", "zorblax-prod"]) for c in ("incident", "audit", "preflight", "triage")),
        ("verdict", ["--instances", NODE]),
        ("verdict", ["--tag", "team=zorblax-prod"]),
    ],
    ids=["incident", "audit", "preflight", "triage", "instances", "tag"],
)
def test_every_live_command_records_and_is_replayed_alike(
    command: str, which: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "case.zip"
    asked = [command, *which, *JSON, "--question", "why was zorblax-prod slow?"]
    asked += ["--hours", "12", "--nodes", "2"] if command == "preflight" else ["--since", "6h"]
    code = main([*asked, "--record", str(kept)])
    live, said = printed(capsys)
    assert f"in {kept}" in said
    assert "keep it to yourself" in said
    plain, mapped = replayed(command, kept, capsys)
    assert mapped == (code, live)
    assert plain[0] == code
    for own in (NODE, "zorblax", "alice", ACCOUNT):
        assert own not in plain[1]
        assert own.encode() not in unpacked(kept)


@pytest.mark.usefixtures("keys")
def test_what_was_read_before_an_interruption_is_kept(
    http: Http,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AWS_REGION", REGION)
    sent: list[str] = []

    def respond(request: AWSPreparedRequest) -> AWSResponse:
        sent.append(str(request.url))
        if len(sent) > 5:
            raise KeyboardInterrupt
        return refuse(request)

    http(respond)
    kept = tmp_path / "case.zip"
    assert main(["incident", "--instances", NODE, *JSON, "--record", str(kept)]) == 2
    heading = json.loads(zipfile.ZipFile(kept).read("recording.json"))
    assert heading["ended"] == "interrupted"
    assert heading["readings"] == len(sent) - 2  # who asks, and the one that was interrupted
    assert main(["incident", "--case", str(kept), *JSON]) == 3
    assert "not_recorded" in printed(capsys)[0]


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_map_puts_originals_back_into_any_format(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "case.zip"
    how = ["--format", form, "--full"]
    asked = ["incident", "--cluster", "zorblax_prod", *how, "--failure-at", "3h"]
    code = main([*asked, "--record", str(kept)])
    live = capsys.readouterr().out
    assert "zorblax" in live
    again = ["incident", "--case", str(kept), *how, "--map", str(tmp_path / "case.map.json")]
    assert main(again) == code
    assert capsys.readouterr().out == live


@pytest.mark.usefixtures("refusing")
def test_whoever_reads_a_recording_without_a_window_gets_the_one_that_was_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "case.zip"
    span = ["--since", "2026-03-01T00:00:00Z", "--until", "2026-03-02T00:00:00Z"]
    main(["verdict", "--instances", NODE, *JSON, *span, "--record", str(kept), "--record-raw"])
    live = json.loads(printed(capsys)[0])
    report = verdict_report(load_case(kept), Asked(), clock=datetime(2030, 1, 1, tzinfo=UTC))
    assert json.loads(report.model_dump_json(by_alias=True)) == live


@pytest.mark.usefixtures("account")
def test_what_an_account_holds_is_replayed_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = running(2, team="zorblax-team")
    logs = client("logs")
    logs.create_log_group(logGroupName=GROUP)
    for node in nodes:
        logs.create_log_stream(logGroupName=GROUP, logStreamName=f"kernel/{node}")
    kept = tmp_path / "case.zip"
    asked = ["verdict", "--tag", "team=zorblax-team", "--deadline", "4s", *JSON]
    code = main([*asked, "--record", str(kept)])
    live, _ = printed(capsys)
    plain, mapped = replayed("verdict", kept, capsys)
    assert mapped == (code, live)
    for own in (*nodes, "zorblax", ACCOUNT):
        assert own not in plain[1]
        assert own.encode() not in unpacked(kept)
    assert all(node in live for node in nodes)


@pytest.mark.usefixtures("refusing")
def test_a_map_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    main(["verdict", "--instances", NODE, *JSON, "--record", str(tmp_path / "case.zip")])
    kept = tmp_path / "case.map.json"
    assert NODE in json.dumps(json.loads(kept.read_text(encoding="utf-8")))
    if sys.platform != "win32":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["case.map.json", "case.zip"]


@pytest.mark.usefixtures("refusing")
def test_raw_recordings_name_everything_but_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "case.zip"
    main(["verdict", "--instances", NODE, *JSON, "--record", str(kept), "--record-raw"])
    live, said = printed(capsys)
    assert "as the account does" in said
    assert NODE.encode() in unpacked(kept)
    assert b"hf_abcdefghijklmnopqrstuvwx" not in unpacked(kept)
    assert not (tmp_path / "case.map.json").exists()
    main(["verdict", "--case", str(kept), "--format", "json"])
    assert printed(capsys)[0] == live


@pytest.mark.usefixtures("refusing")
def test_the_same_key_gives_the_same_stand_ins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"sixteen bytes or more of it")
    ids: list[list[str]] = []
    for name in ("one.zip", "two.zip"):
        kept = str(tmp_path / name)
        asked = ["verdict", "--instances", NODE, *JSON, "--record", kept, "--record-key", str(key)]
        main(asked)
        capsys.readouterr()
        main(["verdict", "--case", kept, "--format", "json"])
        ids.append(list(json.loads(printed(capsys)[0])["verdicts"]))
    assert ids[0] == ids[1] != [NODE]


@pytest.mark.usefixtures("refusing")
def test_a_deadline_that_ends_the_question_is_recorded_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "case.zip"
    asked = ["incident", "--instances", NODE, "--deadline", "1s", "--format", "json"]
    code = main([*asked, "--record", str(kept)])
    live, said = printed(capsys)
    assert "not complete" in said
    again = ["incident", "--case", str(kept), "--format", "json"]
    assert main([*again, "--map", str(tmp_path / "case.map.json")]) == code
    assert printed(capsys)[0] == live
    assert '"budget"' in live


@pytest.mark.usefixtures("refusing")
def test_a_cluster_that_does_not_exist_is_recorded_as_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "case.zip"
    asked = ["verdict", "--cluster", "zorblax-lab", "--deadline", "30s", "--record", str(kept)]
    code = main(asked)
    said = capsys.readouterr().err
    heading = json.loads(zipfile.ZipFile(kept).read("recording.json"))
    assert b"zorblax" not in unpacked(kept)
    if code == 2:
        assert "no cluster 'zorblax-lab'" in said
        assert heading["ended"].startswith("refused: no cluster")
        assert main(["verdict", "--case", str(kept)]) == 2
        assert "no cluster" in capsys.readouterr().err


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--record", "{tmp}/none/case.zip"], "there is no folder", id="no folder"),
        pytest.param(["--record", "{tmp}/case.tar"], "a recording is a zip", id="no zip"),
        pytest.param(["--record", "{tmp}/folder.zip"], "is a folder", id="a folder"),
        pytest.param(["--record-raw"], "name a zip", id="raw without a zip"),
        pytest.param(
            ["--record", "{tmp}/case.zip", "--record-key", "{tmp}/nokey"],
            "No such file",
            id="no key",
        ),
        pytest.param(["--map", "{tmp}/case.map.json"], "give that too", id="map without case"),
        pytest.param(
            ["--case", "{tmp}", "--record", "{tmp}/case.zip"], "recorded already", id="a case"
        ),
    ],
)
def test_a_recording_that_cannot_be_written_is_refused_before_anything_is_asked(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.zip").mkdir()
    given = [word.replace("{tmp}", str(tmp_path)) for word in words]
    assert main(["verdict", "--tag", "a=b", "--profile", "none", *given]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert "'none'" not in said  # the profile was not even looked for
    assert said.count("\n") == 1


@pytest.mark.usefixtures("refusing")
def test_words_of_a_recording_that_no_command_was_given_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, other = tmp_path / "case.zip", tmp_path / "other.zip"
    asked = ["preflight", "--instances", NODE, *JSON, "--record-raw", "--record", str(kept)]
    code = main(asked)
    live, _ = printed(capsys)
    with zipfile.ZipFile(kept) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            document = json.loads(source.read(name))
            if name == "recording.json":
                document["given"] = [["hours", "many"], ["run", "x"], ["nodes", True], ["case", 1]]
            target.writestr(name, json.dumps(document))
    assert main(["preflight", "--case", str(other), *JSON]) == code
    assert printed(capsys)[0] == live


def test_a_job_spec_alone_and_several_clusters_are_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.yaml").write_text(SPEC, encoding="utf-8")
    kept = str(tmp_path / "case.zip")
    assert main(["preflight", "--spec", str(tmp_path / "job.yaml"), "--record", kept]) == 2
    assert "a job spec alone asks nobody" in capsys.readouterr().err
    assert main(["audit", "--cluster", "a,b", "--record", kept]) == 2
    assert "record each cluster" in capsys.readouterr().err


def test_a_key_too_short_to_hide_anything_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_bytes(b"short")
    kept = str(tmp_path / "case.zip")
    asked = ["verdict", "--tag", "a=b", "--record", kept, "--record-key", str(tmp_path / "key")]
    assert main(asked) == 2
    assert "fewer than 16 bytes" in capsys.readouterr().err


@pytest.mark.usefixtures("refusing")
def test_a_map_of_another_recording_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        main(["verdict", "--instances", NODE, *JSON, "--record", str(tmp_path / f"{name}.zip")])
    capsys.readouterr()
    other = str(tmp_path / "two.map.json")
    assert main(["verdict", "--case", str(tmp_path / "one.zip"), "--map", other]) == 2
    assert "does not belong" in capsys.readouterr().err


@pytest.mark.usefixtures("refusing")
def test_a_job_spec_goes_into_the_recording_without_its_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "job.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    kept = tmp_path / "case.zip"
    asked = ["preflight", "--instances", NODE, "--spec", str(spec), *JSON, "--record", str(kept)]
    code = main(asked)
    live, _ = printed(capsys)
    assert b"hunter2" not in unpacked(kept)
    assert b"zorblax" not in unpacked(kept)
    again = ["preflight", "--case", str(kept), "--format", "json"]
    assert main([*again, "--map", str(tmp_path / "case.map.json")]) == code
    assert printed(capsys)[0] == live


SPEC = """\
apiVersion: sagemaker.amazonaws.com/v1
kind: HyperPodPyTorchJob
metadata:
  name: zorblax-pretrain
  namespace: zorblax-ns
spec:
  nprocPerNode: "8"
  replicaSpecs:
    - name: worker
      replicas: 2
      template:
        spec:
          containers:
            - name: pytorch
              image: 123456789012.dkr.ecr.us-west-2.amazonaws.com/zorblax/train:zorblax-2
              env:
                - name: DB_LOGIN
                  value: hunter2hunter2
                - name: NCCL_DEBUG
                  value: INFO
"""
