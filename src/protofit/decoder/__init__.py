"""A small text decoder, fitted on request: a feature vector back into words."""
