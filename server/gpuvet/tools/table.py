"""The list of tools: name, title, where each is found, and what it is offered with.

Only names stand here: a tool's module is loaded when it is called first, so that a server starts
without the models of its answers.
"""

from typing import NamedTuple


class ToolRow(NamedTuple):
    """One tool."""

    function: str  # module under gpuvet.tools, colon, function; the function's name is the tool's
    title: str
    is_core: bool = True
    asks_account: bool = True  # it reads the evidence the server was started with
    needs_account: bool = False  # offered only where that is a live account

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.function.partition(":")[2]


TOOLS = (
    ToolRow("incidents:incident_report", "Incident report"),
    ToolRow("preflight:preflight_report", "Preflight report"),
    ToolRow("incidents:timeline", "Timeline"),
    ToolRow("audits:audit_report", "Audit report"),
    ToolRow("verdicts:node_verdicts", "Node verdicts"),
    ToolRow("verdicts:log_coverage", "Log coverage"),
    ToolRow("xids:explain_xid", "Explain an Xid", asks_account=False),
    ToolRow("spec:check_job_spec", "Check a job spec", asks_account=False),
    ToolRow("spec:simulate_log_monitors", "Simulate log monitors", asks_account=False),
    ToolRow("spec:suggest_log_monitors", "Suggest log monitors", asks_account=False),
    ToolRow("answers:check_answer", "Check an answer"),
    ToolRow("sources:list_clusters", "List clusters", is_core=False),
    ToolRow("sources:list_nodes", "List nodes", is_core=False),
    ToolRow("sources:cluster_events", "Cluster events", is_core=False),
    ToolRow("sources:find_log_sources", "Find log sources", is_core=False),
    ToolRow("sources:read_log_lines", "Read log lines", is_core=False),
    ToolRow("sources:read_metrics", "Read metrics", is_core=False),
    ToolRow("sources:storage_status", "Storage status", is_core=False),
    ToolRow("sources:network_status", "Network status", is_core=False),
    ToolRow("sources:capacity_status", "Capacity status", is_core=False),
    ToolRow("sources:account_changes", "Account changes", is_core=False),
    ToolRow("access:check_access", "Check access", needs_account=True),
)
