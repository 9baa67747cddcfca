"""Online feature selectors side by side on streams that drift: ``python -m benchmarks.arena``."""
