"""From cells, columns and records to matrices of numbers."""
