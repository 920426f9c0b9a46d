"""Encoder + method as one Hugging Face model, and its folder on disk."""
