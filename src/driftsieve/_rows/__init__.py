"""Rows as callers give them: their shape and types are checked here, once for all entry points."""
