"""The one training loop, and everything it needs to be exact and resumable."""
