"""A lint of evals: patterns that match their opposite, and definitions that cannot say much.

Each finding on a pattern shows the sentence that fools it. Pure but for the matcher.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from gpuvet.model.base import Value
from gpuvet_evals.assertions.patterns import Matcher, Request
from gpuvet_evals.compare import SIGNIFICANCE
from gpuvet_evals.evals_json import OFFLINE_EVALUATORS, Assertion, Eval, EvalSet
from gpuvet_evals.stats import smallest_p

KNOWN_EVALUATORS = OFFLINE_EVALUATORS | {"llm"}


class LintLevel(StrEnum):
    """How bad, worst first."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


class LintFinding(Value):
    """One flaw of one eval or assertion."""

    code: str
    level: LintLevel
    eval_id: str
    assertion: int | None
    message: str
    probe: str = ""  # the sentence that fools a pattern


# Sentences that say the opposite of a word, or only use it.
_OPPOSITES = (
    "It is not {word}.",
    "There is no {word} here.",
    "Nothing was seen in this {word}.",
    "Whether it is {word} could not be seen.",
)
_OPPOSITES_OF_VERBS = ("You should not {word} it.", "We shouldn't {word} the node.")
_VERBS = frozenset(
    {"drain", "monitor", "reboot", "replace", "reset", "restart", "stop", "terminate"}
)
# Words that are names of things, not claims: to mention one is what is asked for.
_NOT_CLAIMS = frozenset({"xid", "sxid", "nccl", "efa", "fsx", "aws", "gpu", "ecc", "nvlink"})
# Texts with 12 digits that are no account.
_INNOCENT_DIGITS = (
    "Group /aws/parallelcluster/train-202610020905 holds the lines.",
    "The reservation is 3f0c9a2e-7d41-4b7a-9c1e-202610020905.",
    "The counter stood at 104857600123.",
)
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}(?:[ _][A-Za-z]{3,})*")
_CLASSES = re.compile(r"\\[A-Za-z]|\[[^\]]*\]|\(\?[a-zA-Z:=!<-]+")
_NEGATION = re.compile(r"(?i)\b(?:not|no|never|un\w+|without|neither)\b")
REPEATED_REPETITION = re.compile(r"\([^()]*[+*][^()]*\)[+*{]|\(\?:[^()]*\|[^()]*\)[+*]\S*[+*]")


def lint_evals(evals: EvalSet, matcher: Matcher) -> tuple[LintFinding, ...]:
    """Return every finding, by eval in their order."""
    found = [f for e in evals.evals for f in _lint_eval(e, matcher)]
    return (*_lint_set(evals), *found)


def _lint_set(evals: EvalSet) -> Iterator[LintFinding]:
    positives = sum(e.should_trigger for e in evals.evals)
    for identity, count in Counter(e.id for e in evals.evals).items():
        if count > 1:
            yield _finding("EV001", LintLevel.ERROR, identity, f"the id stands {count} times")
    if not evals.skill_name:
        yield _finding("EV002", LintLevel.WARNING, "", "no skill_name: loads cannot be told apart")
    if not positives:
        yield _finding(
            "EV003",
            LintLevel.ERROR,
            "",
            "no positive eval: the publisher's check needs a pair of sides",
        )
    elif smallest_p(positives) >= SIGNIFICANCE:
        yield _finding(
            "EV004",
            LintLevel.ADVICE,
            "",
            f"{positives} positive evals: even a clean sweep has p {smallest_p(positives):.3f}; "
            "six or more can say something",
        )
    if positives == len(evals.evals):
        yield _finding(
            "EV005",
            LintLevel.ADVICE,
            "",
            "no negative eval: precision of the trigger cannot be told",
        )


def _lint_eval(eval_: Eval, matcher: Matcher) -> Iterator[LintFinding]:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", eval_.id):
        yield _finding("EV010", LintLevel.ERROR, eval_.id, "the id is no folder name")
    if not eval_.prompt.strip():
        yield _finding("EV011", LintLevel.ERROR, eval_.id, "no prompt")
    if eval_.unknown_keys:
        keys = ", ".join(eval_.unknown_keys)
        yield _finding("EV012", LintLevel.ADVICE, eval_.id, f"keys nobody reads: {keys}")
    if eval_.should_trigger and not eval_.assertions and not eval_.is_query:
        yield _finding(
            "EV013", LintLevel.WARNING, eval_.id, "no assertion: nothing is scored offline"
        )
    for index, assertion in enumerate(eval_.assertions or ()):
        for code, level, message, probe in _lint_assertion(eval_, assertion, matcher):
            yield LintFinding(
                code=code,
                level=level,
                eval_id=eval_.id,
                assertion=index,
                message=message,
                probe=probe,
            )


Row = tuple[str, LintLevel, str, str]


def _lint_assertion(eval_: Eval, assertion: Assertion, matcher: Matcher) -> Iterator[Row]:
    if assertion.evaluator not in KNOWN_EVALUATORS:
        yield "EV020", LintLevel.WARNING, f"evaluator {assertion.evaluator!r} is judged", ""
    if assertion.evaluator == "regex":
        if assertion.pattern is None:
            yield "EV021", LintLevel.ERROR, "no pattern", ""
            return
        error = matcher.ask([Request((assertion.pattern,), "")])()[0][0].error
        if error is not None:
            yield "EV022", LintLevel.ERROR, error, ""
            return
        if REPEATED_REPETITION.search(assertion.pattern):
            yield "EV023", LintLevel.WARNING, "repeats a repetition: it may take for ever", ""
    if assertion.evaluator in {"regex", "contains"}:
        yield from _lint_matching(eval_, assertion, matcher)


def _lint_matching(eval_: Eval, assertion: Assertion, matcher: Matcher) -> Iterator[Row]:
    if assertion.absent:
        yield from _absent(eval_, assertion, matcher)
        return
    for probe in _opposites(assertion, matcher):
        yield (
            "EV030",
            LintLevel.WARNING,
            "holds for a sentence that says the opposite, or only uses the word",
            probe,
        )
        break
    else:
        yield from _capitals(assertion, matcher)
    if _matches(assertion, matcher, eval_.prompt):
        yield (
            "EV031",
            LintLevel.ADVICE,
            "holds for the prompt itself: repeating the question is enough",
            eval_.prompt,
        )
    if eval_.expected and not _matches(assertion, matcher, eval_.expected):
        yield "EV032", LintLevel.ADVICE, "does not hold for the expected answer", eval_.expected
    if (assertion.min_count or 0) > 1 and assertion.pattern:
        yield (
            "EV033",
            LintLevel.ADVICE,
            f"min_count {assertion.min_count} counts repeats: one name said twice is enough",
            "",
        )


def _capitals(assertion: Assertion, matcher: Matcher) -> Iterator[Row]:
    """Yield whether a word asked for in capitals is found in a refusal that shouts as well."""
    for word in _words(assertion):
        probe = f"Do NOT {word.upper()} it."
        if _matches(assertion, matcher, probe):
            yield "EV037", LintLevel.ADVICE, "holds for a refusal in capitals", probe
            return


def _absent(eval_: Eval, assertion: Assertion, matcher: Matcher) -> Iterator[Row]:
    for probe in _INNOCENT_DIGITS:
        if _matches(assertion, matcher, probe):
            yield (
                "EV034",
                LintLevel.WARNING,
                "fails a correct answer: 12 digits that are no account",
                probe,
            )
            break
    if eval_.expected and _matches(assertion, matcher, eval_.expected):
        yield "EV035", LintLevel.WARNING, "fails the expected answer itself", eval_.expected
    for word in _words(assertion):
        probe = f"I did not use {word}."
        if _matches(assertion, matcher, probe):
            yield "EV036", LintLevel.ADVICE, "fails an answer that only mentions it", probe
            break


def _opposites(assertion: Assertion, matcher: Matcher) -> Iterator[str]:
    """Yield the sentences that fool an assertion: it holds, and not because of the sentence."""
    for word in _words(assertion):
        shapes = (*_OPPOSITES_OF_VERBS, *_OPPOSITES) if word in _VERBS else _OPPOSITES
        for shape in shapes:
            probe = shape.format(word=word)
            if _matches(assertion, matcher, probe) and not _matches(
                assertion, matcher, shape.format(word="it")
            ):
                yield probe


def _words(assertion: Assertion) -> Iterator[str]:
    """Yield the words of a pattern that make a claim, as prose writes them."""
    texts: Sequence[str] = assertion.any_of or (_CLASSES.sub(" ", assertion.pattern or ""),)
    for text in texts:
        for word in dict.fromkeys(_WORD.findall(text)):
            spoken = word.replace("_", " ").lower()
            if spoken in _NOT_CLAIMS or _NEGATION.search(spoken) or _is_part_of_a_name(text, word):
                continue
            yield spoken


def _is_part_of_a_name(text: str, word: str) -> bool:
    """Whether a word stands in a path, an id or a name, joined by one of their signs."""
    at = text.find(word)
    around = text[max(0, at - 1) : at] + text[at + len(word) : at + len(word) + 1]
    return any(sign in around for sign in "/-_.@:0123456789")


def _matches(assertion: Assertion, matcher: Matcher, text: str) -> bool:
    if assertion.evaluator == "contains":
        folded = text.casefold()
        return any(wanted.casefold() in folded for wanted in assertion.any_of)
    found = matcher.ask([Request((assertion.pattern or "",), text)])()[0][0]
    return found.error is None and found.times >= (assertion.min_count or 1)


def _finding(code: str, level: LintLevel, eval_id: str, message: str) -> LintFinding:
    return LintFinding(code=code, level=level, eval_id=eval_id, assertion=None, message=message)
