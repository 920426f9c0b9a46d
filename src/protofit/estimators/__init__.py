"""The scikit-learn face, and the one way from texts and labels to a trained model."""
