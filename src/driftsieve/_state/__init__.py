"""The state of a bank apart from its numbers: columns, classes, limits and snapshots."""
