"""Benchmarks: `python -m tests.bench` is the table beside rivals, `python -m tests.bench.growth` what growth costs. Nothing is asserted."""
