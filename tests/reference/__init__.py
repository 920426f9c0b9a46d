"""Slow float64 replay of the prototype head, for comparison in tests only."""
