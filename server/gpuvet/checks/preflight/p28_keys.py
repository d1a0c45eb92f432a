"""P28: the encryption keys that the run needs are usable."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.p08_storage import no_system
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

_UNUSABLE = frozenset({"Disabled", "PendingDeletion", "PendingImport", "Unavailable"})


def keys(view: View) -> Iterator[Part]:
    """Look at the state of each key."""
    for one in view.keys:
        if one.value is None:
            yield unread(one, one.what)
        elif one.value.state in _UNUSABLE:
            yield Part(
                CheckStatus.FAIL,
                one.value.key,
                f"key {one.value.key} is {one.value.state}",
                action=f"make key {one.value.key} usable before the run",
                evidence=one.refs,
            )
        else:
            why = f"key {one.value.key} is {one.value.state}"
            yield Part(CheckStatus.PASS, one.value.key, why, evidence=one.refs)
    if not view.keys:
        if not view.systems:
            yield no_system(view)
        else:
            why = "no customer key was named by the file systems that were read"
            yield Part(CheckStatus.NOT_APPLICABLE, "keys", why)


P28 = PreflightCheck(
    "P28",
    "encryption keys are usable",
    "kms DescribeKey (outside the minimal policy)",
    "FAIL: a key disabled or pending deletion",
    "KMS developer guide",
    keys,
)
