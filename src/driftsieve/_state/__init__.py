"""What a bank knows beside its numbers: columns, classes, limits and how a snapshot is taken."""
