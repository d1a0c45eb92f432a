"""Is a run ready: the core checks decide, a later one can only make it worse."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuvet.checks.preflight.outcome import Outcome
from gpuvet.checks.preflight.p25_faults_now import OPEN_VERDICTS
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus
from gpuvet.model.readiness import Ready

# preflight_checks, rules 1 and 6: "with risks" asks for a complete core, so that any of the six
# that is open leaves a run undecided. An open question to the operator does not.
CORE = ("P1", "P2", "P3", "P4", "P5", "P6")


@dataclass(frozen=True, slots=True)
class Readiness:
    """The answer for one run length, and the checks it rests on."""

    ready: Ready
    because: tuple[str, ...]


def readiness(view: View, outcomes: Mapping[str, Outcome]) -> Readiness:
    """Return whether a run may start.

    No: any FAIL, or too few nodes without an open REPLACE or REBOOT. Not decided: a core check is
    open, even one with a RISK in hand. Yes with risks: any RISK, or a core check that waits for
    the operator's word. Yes: every core check PASS or NOT_APPLICABLE for a proven reason.
    """
    failing = tuple(name for name, one in outcomes.items() if one.status is CheckStatus.FAIL)
    if failing:
        return Readiness(Ready.NO, failing)
    if _is_short_of_nodes(view):
        return Readiness(Ready.NO, ("P25",))
    unsettled = tuple(name for name in CORE if not _is_settled(outcomes.get(name)))
    if unsettled:
        return Readiness(Ready.NOT_DECIDED, unsettled)
    risky = tuple(name for name, one in outcomes.items() if one.status is CheckStatus.RISK)
    loose = tuple(name for name in CORE if outcomes[name].status is CheckStatus.NEEDS_INPUT)
    if risky or loose:
        return Readiness(Ready.WITH_RISKS, tuple(dict.fromkeys((*risky, *loose))))
    return Readiness(Ready.YES, ())


def _is_settled(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.is_complete


def _is_short_of_nodes(view: View) -> bool:
    need = view.run.nodes_needed
    sound = [n for n in view.nodes if n.verdict.verdict not in OPEN_VERDICTS]
    return need is not None and view.listed.is_complete and len(sound) < need
