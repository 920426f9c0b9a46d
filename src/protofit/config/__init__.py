"""Frozen, validated dataclasses: every choice of a run, one commented field per line."""
