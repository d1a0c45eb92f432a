"""Limits of the simulated account, as `aws_evidence` and `log_sources` give them, in one table.

Where the facts leave a number open it is ours and says so: a benchmark's two sides share it.
"""

from types import MappingProxyType

# CloudWatch Logs: rows of one page, rows of one query, characters of one query, groups of one
# query (StartQuery and GetQueryResults, botocore 1.44.8 models).
ROWS_A_PAGE = 10_000
ROWS_A_QUERY = 100_000
CHARACTERS_A_QUERY = 10_000
GROUPS_A_QUERY = 50
# Queries at once: the lowest figure of the vendor's pages; fewer on Infrequent Access.
QUERIES_AT_ONCE = 20
QUERIES_AT_ONCE_INFREQUENT = 5

# Calls a second before a call is throttled; a second's worth may come at once.
CALLS_A_SECOND = MappingProxyType(
    {
        "logs:DescribeLogGroups": 10.0,
        "logs:DescribeLogStreams": 25.0,
        "logs:FilterLogEvents": 5.0,
        "logs:GetLogEvents": 25.0,
        "logs:StartQuery": 5.0,
        "logs:GetQueryResults": 5.0,
        "cloudtrail:LookupEvents": 2.0,
        "cloudwatch:ListMetrics": 25.0,
        "sagemaker:ListClusterNodes": 10.0,
    }
)
CALLS_A_SECOND_OTHERWISE = 20.0  # ours

# Rows of a page where the caller may ask for fewer.
PAGE_ROWS = MappingProxyType(
    {
        "logs:DescribeLogGroups": 50,
        "logs:DescribeLogStreams": 50,
        "logs:GetQueryResults": ROWS_A_PAGE,
        "sagemaker:ListClusterNodes": 100,
        "sagemaker:ListClusterEvents": 100,
        "ec2:DescribeInstances": 1000,
        "cloudtrail:LookupEvents": 50,
    }
)

# Ours: a round trip, the least a query takes, what it scans a second, and how long its end stays
# unseen by GetQueryResults.
CALL_SECONDS = 0.1
QUERY_SECONDS = 2.0
SCANNED_A_SECOND = 5_000_000_000
RESULTS_LAG_SECONDS = 0.3
BYTES_A_LINE = 180
