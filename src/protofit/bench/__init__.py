"""The experiment: one harness that runs every method on the same subsets and keeps records."""
