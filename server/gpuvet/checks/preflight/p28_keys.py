"""P28: the encryption keys that the run needs are usable.

Keys of file systems, of the EBS volumes of HyperPod instance groups, of log groups, and of the
secrets of an EKS cluster. Those of EBS volumes outside HyperPod stand in no reply that is read.
"""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.p08_storage import no_system
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

_UNUSABLE = frozenset({"Disabled", "PendingDeletion", "PendingImport", "Unavailable"})
# A replica or an import under way; the key cannot be said to work.
_UNSETTLED = frozenset({"Creating", "Updating", "PendingReplicaDeletion"})
_VOLUMES = (
    "keys of EBS volumes outside HyperPod are not readable here: ec2:DescribeVolumes is not among "
    "the reads"
)


def keys(view: View) -> Iterator[Part]:
    """Look at the state of each key, and for the sources that name keys."""
    for one in view.keys:
        state = one.value.state if one.value is not None else None
        if one.value is None:
            yield unread(one, one.what)
            continue
        name = f"key {one.value.key}{f' of {one.value.used_by}' if one.value.used_by else ''}"
        if state in _UNUSABLE:
            yield Part(
                CheckStatus.FAIL,
                one.value.key,
                f"{name} is {state}",
                action=f"make key {one.value.key} usable before the run",
                evidence=one.refs,
            )
        elif state is None or state in _UNSETTLED:
            why = f"{name}: its state is {state or 'not returned'}"
            closes = f"kms:DescribeKey of {one.value.key}"
            yield Part(CheckStatus.UNVERIFIED, one.value.key, why, closes_with=closes)
        else:
            why = f"{name} is {state}"
            yield Part(CheckStatus.PASS, one.value.key, why, evidence=one.refs)
    yield from _unnamed(view)


def _unnamed(view: View) -> Iterator[Part]:
    """Yield the sources whose keys are not known, and what no key was named by."""
    if not view.systems:
        yield no_system(view)
    if view.is_hyperpod and view.cluster.value is None:
        yield unread(view.cluster, view.cluster_name or "the cluster", "the keys of its volumes")
    if view.retention.was_refused:
        yield unread(view.retention, "log groups", "their keys")
    elif not rows(view.retention):
        why, closes = "no log group of the nodes was returned: its key is not known", "log groups"
        yield Part(CheckStatus.UNVERIFIED, "log groups", why, closes_with=closes)
    if view.secrets_read.was_refused and view.names_eks:
        yield unread(view.secrets_read, "the EKS cluster", "the key of its secrets")
    notes = () if view.is_hyperpod else (_VOLUMES,)
    if not view.keys:
        why = "no customer key is named by the file systems, volumes and log groups that were read"
        yield Part(CheckStatus.NOT_APPLICABLE, "keys", why, notes=notes)
    elif notes:
        why = "EBS volumes have keys of their own"
        yield Part(CheckStatus.NOT_APPLICABLE, "EBS volumes", why, notes=notes)


P28 = PreflightCheck(
    "P28",
    "encryption keys are usable",
    "kms DescribeKey (outside the minimal policy) of the keys that DescribeFileSystems, "
    "DescribeCluster and DescribeLogGroups name",
    "FAIL: a key disabled or pending deletion. Keys of EBS volumes outside HyperPod are not "
    "readable",
    "KMS developer guide",
    keys,
)
