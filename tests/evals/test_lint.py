"""The lint: patterns that match their opposite, and evals that cannot say much."""

import pytest

from gpuvet_evals.assertions.patterns import InProcess
from gpuvet_evals.evals_json import Assertion, Eval, EvalSet
from gpuvet_evals.lint import LintFinding, lint_evals


def lint(*assertions: Assertion, prompt: str = "p", expected: str = "") -> list[LintFinding]:
    evals = tuple(
        Eval(id=f"e{i}", prompt=prompt, expected=expected, assertions=assertions if not i else ())
        for i in range(8)
    )
    negative = Eval(id="n", prompt="p", should_trigger=False)
    found = lint_evals(EvalSet(skill_name="s", evals=(*evals, negative)), InProcess())
    return [f for f in found if f.assertion is not None]


def regex(pattern: str, *, absent: bool = False, least: int | None = None) -> Assertion:
    return Assertion(text="t", evaluator="regex", pattern=pattern, absent=absent, min_count=least)


def contains(*any_of: str) -> Assertion:
    return Assertion(text="t", evaluator="contains", any_of=any_of)


@pytest.mark.parametrize(
    ("assertion", "code", "probe"),
    [
        (contains("REPLACE"), "EV030", "You should not replace it."),
        (regex(r"(?i)\bPASS\b"), "EV030", "It is not pass."),
        (regex(r"(?i)\b(proven|hypothesis)\b"), "EV030", "It is not proven."),
        (regex(r"\b(REPLACE|REBOOT)\b"), "EV037", "Do NOT REPLACE it."),
        (
            regex(r"\b\d{12}\b", absent=True),
            "EV034",
            "Group /aws/parallelcluster/train-202610020905 holds the lines.",
        ),
        (regex(r"(?i)reboot instances", absent=True), "EV036", "I did not use reboot instances."),
        (regex(r"\bi-[0-9a-f]{17}\b", least=2), "EV033", ""),
        (regex("("), "EV022", ""),
        (regex(r"(a+)+$"), "EV023", ""),
    ],
)
def test_a_flaw_is_shown_with_the_sentence_that_fools_the_pattern(
    assertion: Assertion, code: str, probe: str
) -> None:
    found = {(f.code, f.probe) for f in lint(assertion)}

    assert (code, probe) in found


@pytest.mark.parametrize(
    "assertion",
    [
        pytest.param(regex(r"(?i)not observable"), id="a word that is its own negation"),
        pytest.param(regex(r"i-0a1b2c3d4e5f60011"), id="an id"),
        pytest.param(regex(r"vega-eks"), id="a name"),
        pytest.param(regex(r"/aws/parallelcluster/[\w./-]+"), id="a path"),
        pytest.param(regex(r"(?i)xid\D{0,10}79\b"), id="a code"),
        pytest.param(contains("us-east-2"), id="a region"),
    ],
)
def test_naming_a_thing_has_no_opposite(assertion: Assertion) -> None:
    assert lint(assertion) == []


def test_prompt_and_expected_answer_are_probes_too() -> None:
    on_prompt = lint(regex("vega-eks"), prompt="is vega-eks ready?")
    on_expected = lint(regex("vega-eks"), expected="lyra is ready")
    refuses_expected = lint(regex("lyra", absent=True), expected="lyra is ready")

    assert [f.code for f in on_prompt] == ["EV031"]
    assert [f.code for f in on_expected] == ["EV032"]
    assert "EV035" in [f.code for f in refuses_expected]


def test_a_set_that_cannot_say_much_is_told() -> None:
    two = EvalSet(
        skill_name=None,
        evals=(Eval(id="a/b", prompt=" "), Eval(id="x", prompt="p", unknown_keys=("k",)),
               Eval(id="x", prompt="p", assertions=(Assertion(text="t", evaluator="gut"),))),
    )  # fmt: skip

    codes = {f.code for f in lint_evals(two, InProcess())}

    assert codes == {
        "EV001",
        "EV002",
        "EV004",
        "EV005",
        "EV010",
        "EV011",
        "EV012",
        "EV013",
        "EV020",
    }


def test_only_negatives_can_not_be_published() -> None:
    evals = EvalSet(skill_name="s", evals=(Eval(id="n", prompt="p", should_trigger=False),))

    assert [f.code for f in lint_evals(evals, InProcess())] == ["EV003"]
