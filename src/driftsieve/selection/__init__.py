"""Selection rules, which turn scores or p-values into a mask, and measures of their stability."""
