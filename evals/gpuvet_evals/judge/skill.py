"""Best practices of a skill that no rule decides, put to the judge. The skill's text is data."""

from collections.abc import Mapping, Sequence

from gpuvet_evals.judge.judge import Judge, Verdict
from gpuvet_evals.judge.prompts import Question
from gpuvet_evals.skill_tests import NEEDS_JUDGE, Skill, SkillTest

_PROMPT = "A skill: instructions for an assistant, loaded when its description fits a task."
# What each asks of SKILL.md, in our words; the numbers and names are the publisher's.
WORDINGS: Mapping[str, str] = {
    "BP-01": "The description says both what the skill does and when to use it.",
    "BP-02": "The text is concise: it explains nothing that a capable assistant knows anyway.",
    "BP-03": "Long details, such as tables of codes, stand in linked files and not in this text.",
    "BP-05": "Each link to a reference says when, or for what, to load it.",
    "BP-07": "Steps that must not vary are given exactly; where judgement is needed it is left.",
    "BP-08": "Where several ways exist, one is the default; there is no menu to choose from.",
    "BP-09": "The text gives procedures to follow, not only facts to know.",
    "BP-10": "Mistakes that are easily made are named, each with what is right instead.",
    "BP-11": "A template, or a link to one, shows the shape of what is to be written.",
    "BP-12": "Long templates stand in linked files and not in this text.",
    "BP-14": "Each link to an asset says when to use it.",
    "BP-16": "Work of several steps is laid out step by step, in the order in which it is done.",
    "BP-17": "The text says how to check the work and what to do when the check fails.",
}


def judged_practices(
    skill: Skill, tests: Sequence[SkillTest], judge: Judge
) -> tuple[SkillTest, ...]:
    """Return the tests with those that need a judge decided, as far as it decides.

    Args:
        skill: As read.
        tests: Best practices as rules left them.
        judge: Cached or live.
    """
    open_ones = [test for test in tests if test.message == NEEDS_JUDGE and test.id in WORDINGS]
    if not any(file.startswith("assets/") for file in skill.files):
        open_ones = [test for test in open_ones if test.id != "BP-14"]
    questions = [
        Question(prompt=_PROMPT, answer=skill.text or "", assertion=WORDINGS[test.id])
        for test in open_ones
    ]
    found = {t.id: v for t, v in zip(open_ones, judge.verdicts(questions), strict=True)}
    return tuple(_decided(t, found[t.id]) if t.id in found else t for t in tests)


def _decided(test: SkillTest, verdict: Verdict) -> SkillTest:
    if verdict.passed is None:
        return test  # stays skipped: unjudged, split, not applicable
    quote = f" Quote: {verdict.evidence}" if verdict.evidence else ""
    return SkillTest(
        id=test.id,
        name=test.name,
        result="passed" if verdict.passed else "failed",
        message=f"{verdict.reasoning}{quote}",
        confidence=verdict.confidence,
    )
