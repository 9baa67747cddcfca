"""Sources in files: one module per format, and their common parts."""
