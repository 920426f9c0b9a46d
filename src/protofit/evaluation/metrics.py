"""Accuracy, macro-F1, log-loss, calibration error, confusion; or MSE and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

CALIBRATION_BINS = 15


def classification_metrics(log_prob: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Figures of log-probabilities (N, C) against class indices (N,)."""
    from sklearn.metrics import confusion_matrix, f1_score

    log_prob = log_prob.astype(np.float64)
    guess = log_prob.argmax(axis=1)
    classes = np.arange(log_prob.shape[1])
    return {
        "examples": len(truth),
        "accuracy": float((guess == truth).mean()),
        "macro_f1": float(f1_score(truth, guess, average="macro", labels=np.unique(truth))),
        "log_loss": float(-log_prob[np.arange(len(truth)), truth].mean()),
        "ece": calibration_error(np.exp(log_prob.max(axis=1)), guess == truth),
        "confusion": confusion_matrix(truth, guess, labels=classes).tolist(),
    }


def calibration_error(
    confidence: np.ndarray, right: np.ndarray, bins: int = CALIBRATION_BINS
) -> float:
    """ECE: Σ_b (n_b / N) |accuracy_b − confidence_b| over equal-width bins of confidence."""
    place = np.clip((confidence * bins).astype(int), 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    hits = np.bincount(place, weights=right.astype(float), minlength=bins)
    sure = np.bincount(place, weights=confidence, minlength=bins)
    return float(np.abs(hits - sure).sum() / max(1, counts.sum()))


def regression_metrics(predicted: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """MSE, Pearson and Spearman; correlations are None where one side is constant."""
    from scipy.stats import pearsonr, spearmanr

    predicted, truth = predicted.astype(np.float64), truth.astype(np.float64)
    defined = len(truth) > 1 and np.ptp(truth) > 0 and np.ptp(predicted) > 0
    return {
        "examples": len(truth),
        "mse": float(np.square(predicted - truth).mean()),
        "pearson": float(pearsonr(predicted, truth).statistic) if defined else None,
        "spearman": float(spearmanr(predicted, truth).statistic) if defined else None,
    }
