"""Benchmarks as pages: Markdown for a pull request, one HTML file to look at."""
