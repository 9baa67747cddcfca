"""Screening on more than one machine: the engine splits the rows, banks of the parts are merged."""
