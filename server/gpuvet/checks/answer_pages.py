"""The rules of the answer lint as a page: references/answer-checks.md."""

from gpuvet.checks.answer import ANSWER_RULES, Rule
from gpuvet.model.check import Severity

_FAMILIES = (
    ("ANS1", "Ids and names"),
    ("ANS2", "Numbers, times, codes"),
    ("ANS3", "Log groups and streams"),
    ("ANS4", "Absence and hours"),
    ("ANS5", "Verdicts and readiness"),
    ("ANS6", "Causes"),
    ("ANS7", "Conduct"),
    ("ANS8", "Recovery and capacity"),
)
_INTRO = """\
{count} rules: {errors} errors, {warnings} warnings. `gpuvet answer check DRAFT --case PATH` and the
tool `check_answer` run them over a drafted answer and the evidence of its run. They are rules of
text, not a judge: a finding names the words, what the evidence says, and what to write instead.

What the lint takes for traced:

- **Ids, hosts, streams**: as they stand, in a report, a reply, a log line or the question. An id
  may be cut with an ellipsis where it is written out once.
- **Numbers** of two digits and more: the same value however it is grouped (1,874 is 1874), rounded
  to the digits shown, in another unit (90 s is 1.5 min, 1350000000 B/s is 1.35 GB/s), and what
  follows in one step: the length between two times, hours not seen of hours asked, a share of
  `N of M`, counts and sums over nodes, and the sum, difference, product, quotient or percentage of
  two neighbouring numbers that are traced themselves. With *about*, *nearly*, *over* or *~* within
  5 %. Numbers in commands, and lengths still ahead (*watch it for 30 min*), are not traced.
- **Times** to the precision they state, in any spelling of UTC; with an offset it is taken off; a
  time in a named zone (PST, CET) is not compared. With *around* within 5 min; also 30 or 60 min, or
  a length named beside it, from a time of the evidence.
- **Words of the evidence**: a clause that stands word for word in a report is the evidence's, and
  quotation marks are others' words.

Claims that are denied (*we cannot say there were no errors*), conditional (*if it returns, replace
it*), asked or quoted are no claims. Other languages than English are not read.

Not every rule can judge every draft: without a report of gpuvet among the evidence nobody knows the
verdict, so those rules stay silent and the answer lists them under *not judged*.
"""


def answer_checks_page() -> str:
    """Return references/answer-checks.md."""
    errors = sum(rule.severity is Severity.ERROR for rule in ANSWER_RULES)
    intro = _INTRO.format(
        count=len(ANSWER_RULES), errors=errors, warnings=len(ANSWER_RULES) - errors
    )
    parts = ["# Checks of a drafted answer", "", intro]
    for prefix, title in _FAMILIES:
        rules = [rule for rule in ANSWER_RULES if rule.code.startswith(prefix)]
        parts += [f"## {title}", "", "| code | severity | looks for | why | fix | source |"]
        parts += ["|---|---|---|---|---|---|", *map(_row, rules), ""]
    return "\n".join(parts)


def _row(rule: Rule) -> str:
    looks_for = (rule.run.__doc__ or "").strip().split("\n", 1)[0]
    cells = (
        f"{rule.code} {rule.name}",
        str(rule.severity),
        looks_for,
        rule.why,
        rule.fix,
        rule.source,
    )
    return "| " + " | ".join(cells) + " |"
