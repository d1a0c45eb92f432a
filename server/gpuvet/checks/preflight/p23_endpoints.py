"""P23: nodes reach the AWS endpoints that they need."""

from collections.abc import Iterator

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.p16_bootstrap import default_route, table_of
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus


def endpoints(view: View) -> Iterator[Part]:
    """Look for a way out, or an S3 endpoint, for every subnet of the nodes."""
    if not view.routes.is_complete:
        yield unread(view.routes, "the nodes' subnets")
    own = (name for group in view.accelerated for name in view.subnets_of(group))
    subnets = tuple(dict.fromkeys(own)) or view.subnets_of(None)
    if view.routes.is_complete and not subnets:
        why, closes = "the nodes' subnets are not known", "the subnets of the nodes"
        yield Part(CheckStatus.UNVERIFIED, "the nodes' subnets", why, closes_with=closes)
    for name in subnets:
        if view.routes.is_complete:
            yield _subnet(view, name)


def _subnet(view: View, name: str) -> Part:
    table = table_of(view, name)
    if table is None:
        why = f"no route table of {name} was returned"
        closes = f"ec2:DescribeRouteTables of {name}"
        return Part(CheckStatus.UNVERIFIED, name, why, closes_with=closes)
    route = default_route(table)
    if route is not None and route.state != "blackhole":
        why = f"{name} reaches AWS endpoints through {route.target}"
        return Part(CheckStatus.PASS, name, why, evidence=view.routes.refs)
    if any((r.destination or "").startswith("pl-") for r in table.routes):
        why = f"{name} has gateway endpoints in {table.table}"
        return Part(CheckStatus.PASS, name, why, evidence=view.routes.refs)
    if not view.endpoints.is_complete:
        return unread(view.endpoints, name, f"{name} has no default route")
    vpc = next((s.vpc for s in rows(view.subnets) if s.id == name), None)
    services = {
        service
        for one in rows(view.endpoints)
        if one.vpc in {vpc, None}
        for service in one.services
    }
    if "s3" in services:
        why = (
            f"{name} has no default route; the VPC has endpoints for {', '.join(sorted(services))}"
        )
        return Part(CheckStatus.PASS, name, why, evidence=view.endpoints.refs)
    return Part(
        CheckStatus.RISK,
        name,
        f"{name} has neither a default route nor an S3 endpoint",
        action=f"add an S3 endpoint or a NAT gateway for {name}",
        evidence=view.endpoints.refs,
    )


P23 = PreflightCheck(
    "P23",
    "nodes reach the AWS endpoints they need",
    "DescribeRouteTables, DescribeVpcEndpoints (outside the minimal policy)",
    "RISK: a subnet without a default route and without an S3 endpoint",
    "VPC user guide",
    endpoints,
)
