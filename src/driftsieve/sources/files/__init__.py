"""Sources in files: one module per format, and what they share."""
