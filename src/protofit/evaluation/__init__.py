"""Figures about predictions."""
