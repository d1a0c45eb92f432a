"""48 runs over HTTP, their process killed at random moments: does the tree end in the same bytes?

Run `python -m tests.benchmarks.evals_resume [KILLS]`. A fake Messages API answers on the loopback;
a child process plays our own suite's `pending-node` eight times over, two sides, three iterations,
and is sent SIGKILL (on Windows: terminated) after some replies, again and again. Then it is left
to end, and every file is compared with those of a suite that nobody killed. Replies paid for are
counted on the side of the API: a kill may cost the one that was on its way.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("server", "evals", "tests")]

# The path is set only now.
from fake_messages_api import Answer, Body, FakeApi, Say, fake_api, text, tool_use  # noqa: E402

KILLS = 20
REPLIES = (1, 16)  # that a child gets before it is killed
PAUSE = 0.04  # seconds after the last of them, at most: in a request, a write, or between
_CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from gpuvet_evals.model import LiveModel
from gpuvet_evals.run.command import RunOptions, run_suite
evals, to, url = sys.argv[1:4]
skill = Path(evals).parent / "skill"
options = RunOptions(evals=Path(evals), to=Path(to), skill=skill, iterations=3)
with LiveModel(api_key="test", base_url=url) as model:
    result = run_suite(options, model="model-1", asks=model, workers=2,
                       clock=lambda: datetime(2026, 11, 12, 9, tzinfo=UTC))
assert result.is_whole
"""


def answer(body: Body) -> Answer:
    """Load the skill where there is one, list the nodes, query a log, answer."""
    time.sleep(0.02)  # a reply takes its time, so that kills meet requests on their way
    turn = len([message for message in body["messages"] if message["role"] == "assistant"])
    nodes = {
        "service_name": "sagemaker",
        "operation_name": "list_cluster_nodes",
        "parameters": {"ClusterName": "fm-eks"},
    }
    steps: list[Answer] = [
        Say([tool_use("use_aws", nodes, "toolu_a")], "tool_use"),
        Say([tool_use("datetime", {"expression": "now"}, "toolu_b")], "tool_use"),
        Say([text("LEAVE ALONE i-0e57a1b2c3d4e5f73.")]),
    ]
    if "- gpuvet:" in body["system"][0]["text"]:
        load = tool_use("skill_read", {"skill_id": "gpuvet"}, "toolu_s")
        steps.insert(0, Say([load], "tool_use"))
    return steps[min(turn, len(steps) - 1)]


def prepare(folder: Path) -> Path:
    """Write eight evals over one world, and the skill beside them."""
    case = ROOT / "tests/cases/scenarios/s06-replaced-node-explained-by-cloudtrail.json"
    prompt = "Node i-0e57a1b2c3d4e5f73 of fm-eks is stuck in Pending. Hardware?"
    evals = {"skill_name": "gpuvet", "evals": [{"id": f"e{i}", "prompt": prompt} for i in range(8)]}
    worlds = {f"e{i}": {"case": str(case)} for i in range(8)}
    (folder / "skill").mkdir(parents=True)
    skill = (ROOT / "skill" / "SKILL.md").read_text(encoding="utf-8")
    (folder / "skill" / "SKILL.md").write_text(skill, encoding="utf-8")
    (folder / "evals.json").write_text(json.dumps(evals), encoding="utf-8")
    document = {"format": "gpuvet-worlds/1", "worlds": worlds}
    (folder / "worlds.json").write_text(json.dumps(document), encoding="utf-8")
    return folder / "evals.json"


def play(evals: Path, to: Path, api: FakeApi, dice: random.Random | None) -> bool:
    """Run the child, and kill it where there are dice; return whether it came to its end."""
    paths = [str(ROOT / "server"), str(ROOT / "evals")]
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(evals), str(to), api.url, *paths])
    if dice is None:
        return child.wait() == 0
    enough = len(api.requests) + dice.randint(*REPLIES)
    while child.poll() is None and len(api.requests) < enough:
        time.sleep(0.002)
    time.sleep(dice.uniform(0, PAUSE))
    if child.poll() is not None:
        return child.returncode == 0
    child.kill()
    child.wait()
    return False


def tree_of(folder: Path) -> dict[str, bytes]:
    """Return every file's bytes by its path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def main(arguments: list[str]) -> int:
    """Play, kill, go on, compare."""
    kills = int(arguments[0]) if arguments else KILLS
    dice = random.Random(20261130)  # noqa: S311 - no secret hangs on it
    with tempfile.TemporaryDirectory() as scratch, fake_api(answer) as api:
        folder = Path(scratch)
        evals = prepare(folder / "suite")
        play(evals, folder / "whole", api, None)
        paid, killed = len(api.requests), 0
        api.requests.clear()
        while killed < kills:
            if play(evals, folder / "killed", api, dice):
                break
            killed += 1
        ended = play(evals, folder / "killed", api, None)
        again = len(api.requests) - paid
        same = tree_of(folder / "whole") == tree_of(folder / "killed")
        runs = len(list((folder / "killed").rglob("journal_records.json")))
        sys.stdout.write(
            f"{runs} runs, killed {killed} times, ended: {ended}, same bytes: {same}\n"
            f"replies: {paid} in one go, {again} more with the kills\n"
        )
    return 0 if same and ended else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
