"""Names of EFA counters, whoever exports them: the driver, CloudWatch's agent, Prometheus. Pure."""

import re

# incident-branches §D, layer 3. A rise of one of these is an error; retransmitted packets alone
# are weak, and bytes and requests say nothing of faults.
ERROR_COUNTERS = frozenset(
    {
        *("rdma_read_wr_err", "rdma_write_wr_err", "rx_drops", "retrans_timeout_events"),
        *("impaired_remote_conn_events", "unresponsive_remote_events"),
    }
)
WEAK_COUNTERS = frozenset({"retrans_pkts", "retrans_bytes"})
_PREFIX = re.compile(r"^(?:node_amazonefa_|aws_efa_|amazonefa_|efa_)")
_SUFFIX = re.compile(r"_(?:total|max|sum|count)$")


def counter_name(name: str) -> str | None:
    """Return a counter's own name without prefix and suffix, or None for another metric."""
    plain = _PREFIX.sub("", name.strip().lower())
    if plain in ERROR_COUNTERS | WEAK_COUNTERS:
        return plain
    plain = _SUFFIX.sub("", plain)
    return plain if plain in ERROR_COUNTERS | WEAK_COUNTERS else None
