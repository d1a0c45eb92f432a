"""Speed, measured and never asserted: `python -m tests.benchmarks NAME`."""
