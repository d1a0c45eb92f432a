"""AWS DevOps Agent: the stack, its entry point, the bundle, and the inputs that register it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from mcp import Client
from web_server import INITIALIZE, LIST, NOTIFIED, PATIENCE, Command, ask

from gpuvet.aws.iam_policy import minimal_policy, reads_of
from gpuvet.hosts.devops_agent import ASSOCIATE, REGISTER, TEMPLATE, association, template
from gpuvet.parse.yaml_text import load_documents
from gpuvet.tools.table import TOOLS
from gpuvet.web.settings import Limits

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "build" / "lambda"
RUN = ROOT / "server" / "packaging" / "lambda" / "run.sh"
FUNCTION_HOST = "abc.lambda-url.us-west-2.on.aws"
MIB = 1024 * 1024

posix = pytest.mark.skipif(os.name != "posix", reason="Lambda's shell script")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def stack() -> dict[str, Any]:
    (body,) = load_documents((ROOT / TEMPLATE).read_text(encoding="utf-8"))
    plain: dict[str, Any] = json.loads(json.dumps(body, default=dict))
    return plain


def actions_of(role: str, policy: str) -> list[dict[str, Any]]:
    policies = stack()["Resources"][role]["Properties"]["Policies"]
    (found,) = (p["PolicyDocument"]["Statement"] for p in policies if p["PolicyName"] == policy)
    statements: list[dict[str, Any]] = found
    return statements


def test_the_linter_of_cloudformation_has_nothing_to_say(tmp_path: Path) -> None:
    def lint(path: Path) -> "subprocess.CompletedProcess[str]":
        words = [str(Path(sys.executable).with_name("cfn-lint")), str(path)]
        return subprocess.run(words, capture_output=True, encoding="utf-8", check=False)

    clean = lint(ROOT / TEMPLATE)
    assert (clean.returncode, clean.stdout) == (0, "")
    planted = tmp_path / "template.yaml"
    planted.write_text(template().replace("AWS_IAM", "OPEN"), encoding="utf-8")
    assert lint(planted).returncode != 0


def test_the_reading_role_holds_exactly_the_list_of_reads() -> None:
    assert actions_of("ReadRole", "reads") == minimal_policy(reads_of())["Statement"]
    policies = stack()["Resources"]["ReadRole"]["Properties"]["Policies"]
    assert [p["PolicyName"] for p in policies] == ["reads", "own-log"]
    (log,) = actions_of("ReadRole", "own-log")
    assert log["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert log["Resource"]["Fn::Sub"].endswith(":log-group:/aws/lambda/${AWS::StackName}:*")


def test_only_signed_calls_of_the_agent_of_this_account_come_in() -> None:
    resources = stack()["Resources"]
    assert resources["Url"]["Properties"]["AuthType"] == "AWS_IAM"
    assert "AWS::Lambda::Permission" not in {one["Type"] for one in resources.values()}
    trust = resources["CallerRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    (statement,) = trust
    assert statement["Principal"] == {"Service": "aidevops.amazonaws.com"}
    assert statement["Condition"]["StringEquals"] == {
        "aws:SourceAccount": {"Ref": "AWS::AccountId"}
    }
    allowed = actions_of("CallerRole", "call-gpuvet")
    assert [one["Action"] for one in allowed] == [
        ["lambda:InvokeFunctionUrl", "lambda:InvokeFunctionWithResponseStream"],
        ["lambda:InvokeFunction"],
    ]
    assert allowed[1]["Condition"] == {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}


def test_the_endpoint_ends_in_the_path_exactly() -> None:
    assert stack()["Outputs"]["Endpoint"]["Value"] == {"Fn::Sub": "${Url.FunctionUrl}mcp"}


def test_the_function_waits_longer_than_the_server_does() -> None:
    function = stack()["Resources"]["Function"]["Properties"]
    assert function["Timeout"] > Limits().work_seconds
    variables = function["Environment"]["Variables"]
    assert variables["AWS_LWA_INVOKE_MODE"] == "response_stream"
    assert variables["AWS_LWA_READINESS_CHECK_PATH"] == "/health"


def faults(operation: str, value: dict[str, Any]) -> str:
    """Return what botocore's model of the service says is wrong with an input."""
    model = botocore.session.get_session().get_service_model("devops-agent")
    shape = model.operation_model(operation).input_shape
    assert shape is not None
    report: str = ParamValidator().validate(value, shape).generate_report()
    return report


@pytest.mark.parametrize(
    ("path", "operation"), [(REGISTER, "RegisterService"), (ASSOCIATE, "AssociateService")]
)
def test_the_services_own_model_takes_the_registration(path: str, operation: str) -> None:
    value = json.loads((ROOT / path).read_text(encoding="utf-8"))
    assert faults(operation, value) == ""
    (first, *_) = (key for key in value if key != "name")
    assert first in faults(operation, {k: v for k, v in value.items() if k != first})


def test_every_tool_is_registered_as_one_that_reads() -> None:
    found = association()["configuration"]["mcpserversigv4"]
    assert found["tools"] == [row.name for row in TOOLS]
    assert {one["toolClassification"] for one in found["toolDetails"]} == {"READ_ONLY"}
    assert max(len(f"gpuvet_{name}") for name in found["tools"]) <= 64


def test_the_registration_names_the_path_and_signs_for_lambda() -> None:
    value = json.loads((ROOT / REGISTER).read_text(encoding="utf-8"))
    details = value["serviceDetails"]["mcpserversigv4"]
    assert details["endpoint"].endswith(".on.aws/mcp")
    assert len(details["description"]) <= 500
    assert details["authorizationConfig"]["service"] == "lambda"


@contextmanager
def entry_point(port: int, tmp_path: Path) -> Generator[Command]:
    """Start run.sh as Lambda does, with this interpreter as its python3."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    interpreter = tmp_path / "bin" / "python3"
    if not interpreter.exists():
        interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        interpreter.chmod(0o755)
    process = subprocess.Popen(
        ["sh", str(RUN)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "LAMBDA_TASK_ROOT": str(ROOT / "server"),
            "AWS_LWA_PORT": str(port),
            "AWS_REGION": "us-west-2",
            "GPUVET_CURSOR_KEY": "a-key-of-many-instances-and-more",
        },
    )
    running = Command(process)
    try:
        running.await_port()
        yield running
    finally:
        running.kill()


@posix
def test_the_entry_point_answers_the_adapter_as_the_agent_asks(tmp_path: Path) -> None:
    with entry_point(0, tmp_path) as running:
        there = {"host": FUNCTION_HOST}
        assert ask(running.port, method="GET", path="/health", headers=there).status == 200
        first = ask(running.port, INITIALIZE, there)
        session = {"mcp-session-id": first.headers["mcp-session-id"], **there}
        assert first.message()["result"]["serverInfo"]["name"] == "gpuvet"
        assert ask(running.port, NOTIFIED, session).body == b" "
        listed = ask(running.port, LIST, session)
        assert listed.headers["mcp-session-id"] == session["mcp-session-id"]
        assert len(listed.message()["result"]["tools"]) == len(TOOLS)
        assert ask(running.port, method="GET", headers=session).status == 405
        ended = ask(running.port, method="DELETE", headers=session)
        assert (ended.status, ended.body) == (200, b"{}")
        assert ask(running.port, LIST, {"host": "abc.lambda-url.eu-west-1.on.aws"}).status == 421
        assert running.stop() == 0


@posix
@pytest.mark.anyio
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_both_eras_go_through_the_entry_point(era: str, tmp_path: Path) -> None:
    with entry_point(0, tmp_path) as running:
        async with Client(f"http://127.0.0.1:{running.port}/mcp", mode=era) as client:
            answer = await client.call_tool(
                "explain_xid", {"code": 79}, read_timeout_seconds=PATIENCE
            )
    assert not answer.is_error


def test_the_bundle_is_for_lambdas_python_and_within_its_size() -> None:
    if not (BUNDLE / "run.sh").exists():
        pytest.skip("needs the bundle for Lambda: make lambda")
    files = [p for p in BUNDLE.rglob("*") if p.is_file()]
    size = sum(p.stat().st_size for p in files)
    assert size < 250 * MIB  # Lambda's limit for what is unpacked, layers included
    libraries = {p.name for p in files if p.suffix == ".so"}
    assert any("cpython-312-x86_64-linux-gnu" in name for name in libraries)
    assert not [name for name in libraries if "cpython-3" in name and "-312-" not in name]
    assert (BUNDLE / "gpuvet" / "_assets" / "skill" / "SKILL.md").is_file()
    assert (BUNDLE / "run.sh").read_bytes() == RUN.read_bytes()
    assert os.access(BUNDLE / "run.sh", os.X_OK)


def lambdas_python() -> str | None:
    """Return an interpreter of the version the function runs on."""
    kept = Path.home() / ".pyenv" / "versions"
    named = [shutil.which("python3.12"), *map(str, kept.glob("3.12*/bin/python3.12"))]
    for one in filter(None, named):
        asked = subprocess.run([one, "--version"], capture_output=True, check=False)
        if asked.returncode == 0:
            return one
    return None


def test_the_bundle_runs(tmp_path: Path) -> None:
    if not (BUNDLE / "run.sh").exists():
        pytest.skip("needs the bundle for Lambda: make lambda")
    python = lambdas_python()
    if python is None:
        # Its compiled libraries fit no other version: our own package over those at hand.
        shutil.copytree(BUNDLE / "gpuvet", tmp_path / "gpuvet")
        command, folder = [sys.executable, "-m", "gpuvet", "xid", "79"], tmp_path
    else:
        command, folder = [python, "-S", "-m", "gpuvet", "xid", "79"], BUNDLE
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONPATH": str(folder), "PATH": os.environ["PATH"]},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "REBOOT" in done.stdout
