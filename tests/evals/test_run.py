"""Runs played over a recorded world: what the sides see, what is written, what a kill costs."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fake_messages_api import (
    Answer,
    Body,
    BreakOff,
    Fail,
    FakeApi,
    Say,
    TornInput,
    fake_api,
    in_turn,
    text,
    tool_use,
)

from gpuvet_evals.asking import Reply, Request, Usage
from gpuvet_evals.cli import main
from gpuvet_evals.inspect_command import load_journal
from gpuvet_evals.inspection import ALL_SIDES, RunIdentity, inspect_journal, inspection_json
from gpuvet_evals.locate import place_of, read_evals_file
from gpuvet_evals.run.agent import Limits, Stop
from gpuvet_evals.run.command import RunOptions, run_suite
from gpuvet_evals.run.suite import Played

CASES = Path(__file__).parent.parent / "cases"
S06 = CASES / "scenarios" / "s06-replaced-node-explained-by-cloudtrail.json"
SKILL = (
    "---\nname: gpu-triage\ndescription: Triage of GPU clusters.\n---\n"
    "# Triage\nRead references/xids.md for codes.\n"
)
PROMPT = "Node i-0e57a1b2c3d4e5f73 of HyperPod cluster fm-eks is stuck in Pending. Hardware?"
ANSWER = "LEAVE ALONE i-0e57a1b2c3d4e5f73: it was replaced at 2026-07-21T13:02:44Z."
NODES = {
    "service_name": "sagemaker",
    "operation_name": "list_cluster_nodes",
    "parameters": {"ClusterName": "fm-eks"},
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of one positive and one negative, its world and its skill."""
    evals = {
        "skill_name": "gpu-triage",
        "evals": [
            {"id": "pending", "task_type": "chat", "prompt": PROMPT, "expected_output": ANSWER,
             "assertions": [{"text": "id", "evaluator": "regex", "pattern": "i-0e57a1b2c3d4e5f73"},
                            {"text": "figures", "evaluator": "grounded"}]},
            {"id": "bucket", "should_trigger": False, "prompt": "Why is my bucket public?"},
        ],
    }  # fmt: skip
    worlds = {"format": "gpuvet-worlds/1", "worlds": {"pending": {"case": str(S06)}}}
    (tmp_path / "evals.json").write_text(json.dumps(evals), encoding="utf-8")
    (tmp_path / "worlds.json").write_text(json.dumps(worlds), encoding="utf-8")
    skill = tmp_path / "gpu-triage"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL, encoding="utf-8")
    (skill / "references" / "xids.md").write_text("Xid 79: fell off the bus.", encoding="utf-8")
    (skill / "references" / "other.md").write_text("Nothing links here.", encoding="utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")


def ticking() -> Callable[[], datetime]:
    """Return a clock that stands at one moment: times then depend on nothing."""
    return lambda: datetime(2026, 11, 12, 9, 0, tzinfo=UTC)


def turns_of(body: Mapping[str, Any]) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


def diligent(body: Body) -> Answer:
    """Load the skill where there is one, list the nodes, answer."""
    system = body["system"][0]["text"]
    steps: list[Answer] = [
        Say([text("First the nodes."), tool_use("use_aws", NODES, "toolu_a")], "tool_use"),
        Say([text(ANSWER)]),
    ]
    if "Hardware" not in body["messages"][0]["content"][0]["text"]:
        steps = [Say([text("Its policy allows it.")])]
    elif "- gpu-triage:" in system:
        load = tool_use("skill_read", {"skill_id": "gpu-triage"}, "toolu_s")
        steps.insert(0, Say([load], "tool_use"))
    return steps[min(turns_of(body), len(steps) - 1)]


def run(suite: Path, api: FakeApi, *more: str) -> int:
    return main(
        ["run", str(suite / "evals.json"), "--model", "model-1", "--to", str(suite / "out"),
         "--skill", str(suite / "gpu-triage"), "--base-url", api.url, "--jobs", "1", "--quiet",
         *more]
    )  # fmt: skip


def outputs(suite: Path, side: str = "with_skill", name: str = "pending") -> Path:
    return suite / "out" / "functional" / "v1" / "iteration-1" / name / side / "outputs"


def inspected(suite: Path, side: str = "with_skill") -> dict[str, Any]:
    place = place_of(outputs(suite, side) / "journal_records.json")
    evals = read_evals_file(suite / "evals.json")
    identity = RunIdentity(
        case="c", skill_name=evals.skill_name, eval_id="pending", iteration=1, run_type=side
    )
    return inspection_json(inspect_journal(load_journal(place), identity, evals.find("pending")))


def test_a_run_writes_a_journal_that_inspect_reads(suite: Path) -> None:
    with fake_api(diligent) as api:
        assert run(suite, api) == 0

    shown = inspected(suite)
    assert shown["answer"]["status"] == "final"
    assert shown["trigger"] == {
        "verdict": "pass",
        "named_loads": 1,
        "error_loads": 0,
        "ambiguous_loads": 0,
        "other_skills": [],
    }
    assert [a["passed"] for a in shown["assertions"]] == [True, True]
    assert shown["read_only"]["verdict"] == "proved"
    assert shown["grounding"]["supported_ids"] == ["i-0e57a1b2c3d4e5f73"]
    records = json.loads((outputs(suite) / "journal_records.json").read_text(encoding="utf-8"))
    assert [record["recordType"] for record in records] == [
        "message", "message", "tool_summary", "message", "message", "tool_summary", "message",
        "message", "final_response",
    ]  # fmt: skip
    assert json.loads((outputs(suite) / "metadata.json").read_text(encoding="utf-8")) == {
        "model": "model-1",
        "run_type": "with_skill",
        "stop": "answered",
        "turns": 3,
        "usage": {
            "input_tokens": 300,
            "output_tokens": 60,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        },
    }


def test_the_written_tree_is_graded_and_compared(suite: Path) -> None:
    with fake_api(diligent) as api:
        run(suite, api, "--side", "with_skill", "--side", "without_skill")

    assert main(["grade", str(suite / "out"), "--quiet"]) == 0
    assert main(["benchmark", str(suite / "out")]) == 3  # one eval says too little
    assert main(["report", str(suite / "out"), "--skill", str(suite / "gpu-triage")]) == 3

    written = json.loads((suite / "out/functional/v1/benchmark.json").read_text(encoding="utf-8"))
    assert written["evals"]["pending"]["trigger"]["with_skill"]["pass_rate"] == "1/1"
    assert not (outputs(suite, "without_skill", "bucket")).exists()


def test_the_sides_differ_by_the_skill_alone(suite: Path) -> None:
    with fake_api(diligent) as api:
        run(suite, api, "--eval", "pending")

    first: dict[bool, Body] = {}
    for body in api.requests:
        first.setdefault("- gpu-triage:" in body["system"][0]["text"], body)
    words = "- gpu-triage: Triage of GPU clusters."
    with_skill = json.dumps(first[True])
    assert with_skill.count(words) == 1
    assert with_skill.replace(words, "(none)") == json.dumps(first[False])


def test_the_side_without_the_skill_cannot_load_it(suite: Path) -> None:
    load = tool_use("skill_read", {"skill_id": "gpu-triage"})
    script = in_turn(Say([load], "tool_use"), Say([text(ANSWER)]))
    with fake_api(script) as api:
        run(suite, api, "--eval", "pending", "--side", "without_skill")

    shown = inspected(suite, "without_skill")
    assert shown["trigger"]["verdict"] == "not_applicable"
    assert "Skill not found: gpu-triage" in json.dumps(api.requests[1]["messages"])


def test_only_linked_references_are_served(suite: Path) -> None:
    wanted = [
        tool_use("read_skill_resource", {"skill_id": "gpu-triage", "path": path}, path)
        for path in ("references/xids.md", "references/other.md")
    ]
    with fake_api(in_turn(Say(wanted, "tool_use"), Say([text(ANSWER)]))) as api:
        run(suite, api, "--eval", "pending", "--side", "with_skill")

    served, refused = api.requests[1]["messages"][-1]["content"]
    assert "fell off the bus" in served["content"][0]["text"]
    assert (served["is_error"], refused["is_error"]) == (False, True)


def test_the_third_side_has_the_servers_tools_over_the_same_world(suite: Path) -> None:
    question = {"question": PROMPT}
    script = in_turn(
        Say([tool_use("skill_read", {"skill_id": "gpu-triage"}, "toolu_s")], "tool_use"),
        Say([tool_use("incident_report", question, "toolu_i")], "tool_use"),
        Say([text(ANSWER)]),
    )
    with fake_api(script) as api:
        run(suite, api, "--eval", "pending", "--side", "with_skill_and_server")

    names = [tool["name"] for tool in api.requests[0]["tools"]]
    assert {"use_aws", "incident_report", "audit_report", "preflight_report"} <= set(names)
    told = api.requests[2]["messages"][-1]["content"][0]
    assert told["is_error"] is False
    assert "LEAVE ALONE" in told["content"][0]["text"]
    shown = inspected(suite, "with_skill_and_server")
    assert (shown["trigger"]["verdict"], shown["answer"]["status"]) == ("pass", "final")
    assert shown["grounding"]["unsupported_ids"] == []


def test_the_benchmark_compares_server_and_skill(suite: Path) -> None:
    with fake_api(diligent) as api:
        run(suite, api, *(word for side in ALL_SIDES for word in ("--side", side)))
    main(["grade", str(suite / "out"), "--quiet"])
    main(["benchmark", str(suite / "out")])

    written = json.loads((suite / "out/functional/v1/benchmark.json").read_text(encoding="utf-8"))
    assert [rates["side"] for rates in written["gpuvet"]["rates"]] == list(ALL_SIDES)
    assert written["gpuvet"]["server_against_skill"]["evals_paired"] == ["pending"]


# What tools answer.
def told_by(suite: Path, name: str, given: object) -> dict[str, Any]:
    """Return the result the model is given after one call."""
    with fake_api(in_turn(Say([tool_use(name, given)], "tool_use"), Say([text(ANSWER)]))) as api:
        run(suite, api, "--eval", "pending", "--side", "without_skill")
    result = api.requests[1]["messages"][-1]["content"][0]
    return {"text": result["content"][0]["text"], "is_error": result["is_error"]}


@pytest.mark.parametrize("name", ["list_cluster_nodes", "ListClusterNodes", "list-cluster-nodes"])
def test_an_operation_may_be_spelt_any_way(name: str, suite: Path) -> None:
    told = told_by(suite, "use_aws", {**NODES, "operation_name": name})

    answer = json.loads(told["text"])["111122223333"]
    assert "i-0e57a1b2c3d4e5f73" in json.dumps(answer["ClusterNodeSummaries"])
    assert told["is_error"] is False


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        pytest.param(
            "use_aws", {**NODES, "operation_name": "batch_delete_cluster_nodes"},
            "AWS API error (sagemaker.BatchDeleteClusterNodes, account 111122223333): "
            "AccessDeniedException", id="a change is refused",
        ),
        pytest.param(
            "use_aws", {"service_name": "s3", "operation_name": "list_buckets"},
            "AccessDeniedException", id="so is a read that is not on the list",
        ),
        pytest.param("use_aws", {"service_name": "ec2"}, "the input lacks operation_name",
                     id="a missing input"),
        pytest.param("use_aws", {**NODES, "cluster": "x"}, "unknown input cluster",
                     id="an unknown input"),
        pytest.param("use_aws", {**NODES, "parameters": "ClusterName=fm-eks"},
                     "parameters must be an object", id="an input of another kind"),
        pytest.param(
            "query_cloudwatch_logs",
            {"log_group_names": ["/aws/sagemaker/Clusters/fm-eks/q8w2e4r6t9yu"],
             "query": "filter @message like /(a+)+$/", "start_time": "2026-07-21",
             "end_time": "2026-07-22"}, "repeats a repetition", id="a pattern that never ends",
        ),
        pytest.param("reboot_node", {}, "no tool 'reboot_node'; there are use_aws,",
                     id="a tool that is not there"),
        pytest.param("fs_read", {"file_path": "../evals.json"}, "no file '../evals.json'",
                     id="a file outside"),
        pytest.param(
            "query_cloudwatch_logs",
            {"log_group_names": ["/none"], "query": "fields @message", "start_time": "2026-07-21",
             "end_time": "later"}, "a time that cannot be read", id="a time that is none",
        ),
    ],
)  # fmt: skip
def test_a_wrong_call_is_told_what_is_wrong(
    name: str, given: object, says: str, suite: Path
) -> None:
    told = told_by(suite, name, given)

    assert says in told["text"]
    assert told["is_error"] is True


def test_logs_are_queried_to_the_end(suite: Path) -> None:
    told = told_by(
        suite,
        "query_cloudwatch_logs",
        {
            "log_group_names": ["/aws/sagemaker/Clusters/fm-eks/q8w2e4r6t9yu"],
            "query": "stats count(*) by @logStream",
            "start_time": "2026-07-14T00:00:00Z",
            "end_time": "2026-07-21T13:34:00Z",
        },
    )

    shown = json.loads(told["text"])
    assert (shown["queryLanguage"], shown["status"]) == ("CWLI", "Complete")
    assert "LifecycleConfig/gpu-workers/i-0e57a1b2c3d4e5f73" in told["text"]


def test_the_clock_is_the_worlds(suite: Path) -> None:
    assert told_by(suite, "datetime", {"expression": "now"}) == {
        "text": "1784640840.0 (2026-07-21T13:34:00Z, weekday: Tuesday)",
        "is_error": False,
    }


# How a run ends.
@pytest.mark.parametrize(
    ("answers", "more", "stop", "status"),
    [
        pytest.param([Say([text(ANSWER)])], [], "answered", "final", id="it answers"),
        pytest.param(
            [Say([tool_use("use_aws", NODES)], "tool_use"),
             Say([text(ANSWER), tool_use("ask_user", {"question": "Go on?"}, "q")], "tool_use")],
            [], "asked_user", "answered_then_asked", id="it answers and asks"),
        pytest.param(
            [Say([tool_use("ask_user", {"question": "Which cluster?"})], "tool_use")],
            [], "asked_user", "blocked_on_user", id="it asks first"),
        pytest.param([Say([text("I can't.")], "refusal")], [], "refused", "errored",
                     id="it refuses"),
        pytest.param([Say([text("The node")], "max_tokens")], [], "cut_off", "errored",
                     id="it is cut off"),
        pytest.param([Say([])], [], "silent", "errored", id="it says nothing"),
        pytest.param(
            [Say([tool_use("use_aws", NODES)], "tool_use")], ["--max-turns", "3"],
            "turn_budget", "truncated_mid_tool", id="it never ends"),
        pytest.param(
            [Say([tool_use("use_aws", NODES)], "tool_use")], ["--max-run-tokens", "300"],
            "token_budget", "truncated_mid_tool", id="it costs too much"),
        pytest.param([Say([text("Wait.")], "pause_turn"), Say([text(ANSWER)])], [],
                     "answered", "final", id="it pauses"),
    ],
)  # fmt: skip
def test_how_a_run_ends_is_told_by_its_journal(
    answers: list[Answer], more: list[str], stop: str, status: str, suite: Path
) -> None:
    with fake_api(in_turn(*answers)) as api:
        assert run(suite, api, "--eval", "pending", "--side", "with_skill", *more) == 0

    metadata = json.loads((outputs(suite) / "metadata.json").read_text(encoding="utf-8"))
    assert (metadata["stop"], inspected(suite)["answer"]["status"]) == (stop, status)


def test_what_the_api_would_refuse_is_not_sent_back(suite: Path) -> None:
    use = {**tool_use("use_aws", NODES), "caller": None}
    script = in_turn(Say([text(""), use], "tool_use"), Say([text(ANSWER)]))
    with fake_api(script) as api:
        run(suite, api, "--eval", "pending", "--side", "without_skill")

    assert api.requests[1]["messages"][1]["content"] == [tool_use("use_aws", NODES)]


def test_an_investigation_is_recorded_as_one(suite: Path) -> None:
    evals = json.loads((suite / "evals.json").read_text(encoding="utf-8"))
    evals["evals"][0] |= {"task_type": "investigation", "expected_root_cause": ANSWER}
    (suite / "evals.json").write_text(json.dumps(evals), encoding="utf-8")

    with fake_api(diligent) as api:
        run(suite, api, "--eval", "pending", "--side", "with_skill")

    records = json.loads((outputs(suite) / "journal_records.json").read_text(encoding="utf-8"))
    assert records[0]["executionId"].startswith("exe-ops1-")
    assert records[-1]["recordType"] == "investigation_summary_md"
    assert inspected(suite)["answer"]["status"] == "final"
    assert inspected(suite)["trigger"]["verdict"] == "pass"


# What goes wrong on the way.
@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(Fail(429, "rate_limit_error", {"retry-after": "0"}), id="a rate limit"),
        pytest.param(BreakOff("overloaded_error"), id="overload in the stream"),
        pytest.param(BreakOff(tears_length=True), id="a broken connection"),
        pytest.param(TornInput(), id="a torn tool input"),
    ],
)
def test_a_failure_on_the_way_leaves_no_trace_in_the_journal(
    failure: Answer, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuvet_evals.model._FIRST_WAIT_S", 0.0)
    steps = [Say([tool_use("use_aws", NODES)], "tool_use"), failure, Say([text(ANSWER)])]

    with fake_api(in_turn(*steps)) as api:
        assert run(suite, api, "--eval", "pending", "--side", "with_skill") == 0

    assert len(api.requests) == 3
    assert api.requests[1] == api.requests[2]
    assert inspected(suite)["answer"]["status"] == "final"


def test_a_request_that_fails_for_good_leaves_the_run_to_go_on_later(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_api(
        in_turn(Say([tool_use("use_aws", NODES)], "tool_use"), Fail(400, "invalid_request_error"))
    ) as api:
        assert run(suite, api, "--eval", "pending", "--side", "with_skill") == 3
    assert "failed: pending/iteration-1/with_skill: the API refuses the request" in (
        capsys.readouterr().out
    )

    with fake_api(in_turn(Say([text(ANSWER)]))) as api:
        assert run(suite, api, "--eval", "pending", "--side", "with_skill") == 0

    assert turns_of(api.requests[0]) == 1  # the first turn was not paid again
    assert not (outputs(suite) / "unfinished.jsonl").exists()


def test_a_spent_budget_stops_the_suite_and_more_lets_it_go_on(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_api(diligent) as api:
        assert run(suite, api, "--max-tokens", "500") == 3
        assert "left: bucket/iteration-1/with_skill" in capsys.readouterr().out
        # What was spent before counts: the same budget buys nothing.
        before = len(api.requests)
        assert run(suite, api, "--max-tokens", "500") == 3
        assert len(api.requests) == before
        assert run(suite, api) == 0


def test_a_broken_log_of_turns_is_named_and_not_built_upon(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs(suite).mkdir(parents=True)
    (outputs(suite) / "unfinished.jsonl").write_text("{}\n[]\n", encoding="utf-8")

    with fake_api(diligent) as api:
        assert run(suite, api, "--eval", "pending", "--side", "with_skill") == 2

    assert "delete it to begin the run anew" in capsys.readouterr().err
    assert api.requests == []


def test_other_settings_are_not_mixed_in(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_api(diligent) as api:
        run(suite, api)
        assert run(suite, api, "--max-turns", "5") == 2

    assert "begun with another run.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--eval", "nope"], "no eval 'nope'"),
        (["--worlds", "nowhere.json"], "no worlds at"),
        (["--iterations", "0"], None),
    ],
)
def test_what_cannot_be_played_is_said(
    more: list[str], says: str | None, suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_api(diligent) as api:
        if says is None:
            with pytest.raises(SystemExit):
                run(suite, api, *more)
            return
        assert run(suite, api, *more) == 2

    assert says in capsys.readouterr().err
    assert api.requests == []


# A kill.
class Killed(BaseException):
    """What a kill looks like from inside."""


class Mortal:
    """A model that answers like `diligent` and is killed after so many replies."""

    def __init__(self, lives: int | None) -> None:
        self.left = lives
        self.asked = 0

    def ask(self, request: Request) -> Reply:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.asked += 1
        answer = diligent(dict(request))
        assert isinstance(answer, Say)
        usage = Usage(input_tokens=100, output_tokens=20)
        return Reply(content=tuple(answer.content), stop_reason=answer.stop_reason, usage=usage)


def play(suite: Path, to: Path, asks: Mortal, iterations: int = 1) -> Played:
    options = RunOptions(
        evals=suite / "evals.json",
        to=to,
        skill=suite / "gpu-triage",
        iterations=iterations,
        limits=Limits(turns=10),
    )
    return run_suite(options, model="model-1", asks=asks, workers=1, clock=ticking())


def tree_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def tear(folder: Path, dice: random.Random) -> None:
    """Do what a kill in the middle of a write does: half a line, half a journal."""
    for path in folder.rglob("unfinished.jsonl"):
        with path.open("ab") as file:
            file.write(b'{"reply": {"content": [{"type": "te'[: dice.randrange(1, 36)])
        (path.parent / ".journal_records.json.part").write_bytes(b"[{")


@pytest.fixture
def many(suite: Path) -> Path:
    """Eight evals over the same world: with both sides and three iterations, 48 runs."""
    one = json.loads((suite / "evals.json").read_text(encoding="utf-8"))["evals"][0]
    evals = {"skill_name": "gpu-triage", "evals": [{**one, "id": f"e{i}"} for i in range(8)]}
    worlds = {f"e{i}": {"case": str(S06)} for i in range(8)}
    (suite / "evals.json").write_text(json.dumps(evals), encoding="utf-8")
    (suite / "worlds.json").write_text(
        json.dumps({"format": "gpuvet-worlds/1", "worlds": worlds}), encoding="utf-8"
    )
    return suite


def test_48_runs_killed_again_and_again_end_in_the_same_bytes(many: Path) -> None:
    whole = Mortal(None)
    assert len(play(many, many / "whole", whole, 3).played) == 48

    dice, kills, asked = random.Random(20261130), 0, 0  # noqa: S311 - no secret hangs on it
    while True:
        mortal = Mortal(dice.randrange(1, 16))
        try:
            result = play(many, many / "killed", mortal, 3)
        except Killed:
            kills, asked = kills + 1, asked + mortal.asked
            tear(many / "killed", dice)
            continue
        asked += mortal.asked
        break

    assert kills >= 10
    assert result.is_whole
    assert asked == whole.asked  # no turn was paid twice
    assert tree_of(many / "killed") == tree_of(many / "whole")


@pytest.mark.parametrize("lives", range(5))
def test_a_kill_at_any_reply_costs_no_finished_turn(lives: int, suite: Path) -> None:
    whole = Mortal(None)
    play(suite, suite / "whole", whole)
    mortal, second = Mortal(lives), Mortal(None)
    with pytest.raises(Killed):
        play(suite, suite / "killed", mortal)

    play(suite, suite / "killed", second)

    assert mortal.asked + second.asked == whole.asked
    assert tree_of(suite / "killed") == tree_of(suite / "whole")


def test_a_kill_does_not_turn_the_world_back(suite: Path) -> None:
    """What a recording answers in sequence goes on where it was: Creating, then InService."""
    states = [{"response": {"ClusterStatus": state}} for state in ("Creating", "InService")]
    scenario = json.loads(S06.read_text(encoding="utf-8"))
    call: Body = {"service": "sagemaker", "operation": "DescribeCluster", "params": {}}
    scenario["calls"] = [{**call, "sequence": states}]
    (suite / "world.json").write_text(json.dumps(scenario), encoding="utf-8")
    worlds = {"format": "gpuvet-worlds/1", "worlds": {"pending": {"case": "world.json"}}}
    (suite / "worlds.json").write_text(json.dumps(worlds), encoding="utf-8")
    asks = tool_use("use_aws", {"service_name": "sagemaker", "operation_name": "describe_cluster"})
    steps = [Say([asks], "tool_use"), Say([asks], "tool_use"), Say([text(ANSWER)])]
    only = ["--eval", "pending", "--side", "without_skill"]
    with fake_api(in_turn(steps[0], Fail(400, "invalid_request_error"))) as api:
        assert run(suite, api, *only) == 3

    with fake_api(in_turn(*steps[1:])) as api:
        assert run(suite, api, *only) == 0

    told = [m["content"][0] for m in api.requests[-1]["messages"] if m["role"] == "user"][1:]
    assert [json.loads(t["content"][0]["text"]) for t in told] == [
        {"111122223333": {"ClusterStatus": "Creating"}},
        {"111122223333": {"ClusterStatus": "InService"}},
    ]


def test_a_large_result_is_cut_and_says_so(suite: Path) -> None:
    scenario = json.loads(S06.read_text(encoding="utf-8"))
    call: Body = {"service": "sagemaker", "operation": "DescribeCluster", "params": {}}
    scenario["calls"] = [{**call, "response": {"ClusterName": "x" * 60_000}}]
    (suite / "world.json").write_text(json.dumps(scenario), encoding="utf-8")
    worlds = {"format": "gpuvet-worlds/1", "worlds": {"pending": {"case": "world.json"}}}
    (suite / "worlds.json").write_text(json.dumps(worlds), encoding="utf-8")

    given = {"service_name": "sagemaker", "operation_name": "describe_cluster"}
    told = told_by(suite, "use_aws", given)

    assert told["text"].startswith("Cut: the result has 60,037 characters")
    assert len(told["text"]) < 5_000


def test_runs_side_by_side_end_in_the_same_bytes(many: Path) -> None:
    play(many, many / "one", Mortal(None))
    options = RunOptions(
        evals=many / "evals.json",
        to=many / "four",
        skill=many / "gpu-triage",
        limits=Limits(turns=10),
    )
    run_suite(options, model="model-1", asks=Mortal(None), workers=4, clock=ticking())

    assert tree_of(many / "one") == tree_of(many / "four")


def test_times_in_a_journal_are_the_clocks(suite: Path) -> None:
    def later() -> Iterator[datetime]:
        at = datetime(2026, 11, 12, 9, 0, tzinfo=UTC)
        while True:
            yield at
            at += timedelta(seconds=7)

    clock = later()
    options = RunOptions(
        evals=suite / "evals.json", to=suite / "out", skill=suite / "gpu-triage", only=("pending",)
    )
    result = run_suite(options, model="m", asks=Mortal(None), workers=1, clock=lambda: next(clock))

    assert result.played[0] == ("pending/iteration-1/with_skill", Stop.ANSWERED)
    assert inspected(suite)["metrics"]["runtime_seconds"] == pytest.approx(28.1, abs=8)
