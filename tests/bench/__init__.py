"""Benchmarks: `python -m tests.bench --against kafka,kfake`. Numbers beside numbers of the same run; nothing is asserted."""
