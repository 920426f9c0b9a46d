"""Labelled tables: reading them, checking their columns, ordering their classes."""
