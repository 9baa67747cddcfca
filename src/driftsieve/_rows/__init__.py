"""Rows as callers pass them. Their shapes and types are checked here, for all entry points."""
