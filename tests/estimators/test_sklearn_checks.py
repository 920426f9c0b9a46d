"""scikit-learn's own checks: each is run, or has a reason why it says nothing about texts.

Their data are arrays, so the estimators are wrapped to read rows of numbers as texts. What the
checks then say about parameters, labels, weights and repeated fits is about our code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from helpers.quick import exactly
from helpers.tabular import TabularClassifier, TabularRegressor
from protofit import PFitClassifier, PFitRegressor

ARRAYS = "about arrays of numbers, which the wrapper checks and not the estimator"
FEATURES = "texts have no columns to count or to name"
LEARNING = "wants numbers learned well; the wrapper's texts hardly tell them apart"
DECIMALS = "trains on 0.0 and 1.0 as classes, which are refused: they may be targets"

NOT_APPLICABLE = {
    "check_array_api_input": ARRAYS,
    "check_class_weight_classifiers": LEARNING,
    "check_classifiers_one_label": DECIMALS,
    "check_classifiers_regression_target": "wants the words 'continuous' or 'Unknown label type'",
    "check_classifiers_train": LEARNING,
    "check_complex_data": ARRAYS,
    "check_dtype_object": ARRAYS,
    "check_estimator_sparse_array": ARRAYS,
    "check_estimator_sparse_matrix": ARRAYS,
    "check_estimator_sparse_tag": ARRAYS,
    "check_estimators_dtypes": ARRAYS,
    "check_estimators_empty_data_messages": FEATURES,
    "check_estimators_nan_inf": ARRAYS,
    "check_estimators_partial_fit_n_features": "there is no partial_fit",
    "check_f_contiguous_array_estimator": ARRAYS,
    "check_fit1d": ARRAYS,
    "check_fit2d_1feature": FEATURES,
    "check_fit2d_1sample": "one text: the error speaks of its one label instead of '1 sample'",
    "check_fit2d_predict1d": ARRAYS,
    "check_n_features_in": FEATURES,
    "check_n_features_in_after_fitting": FEATURES,
    "check_positive_only_tag_during_fit": ARRAYS,
    "check_readonly_memmap_input": ARRAYS,
    "check_regressors_train": LEARNING,
    "check_sample_weight_equivalence_on_dense_data": "batches differ when rows are repeated",
    "check_supervised_y_2d": "a column of labels is taken as it is, without a warning",
}

NO_DATA_NEEDED = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}

Check = Callable[[Any], None]


def checks_of(estimator: Any) -> list[tuple[str, Check]]:
    """Every check that scikit-learn has for the estimator, by name."""
    return [(check.func.__name__, check) for _, check in estimator_checks_generator(estimator)]


def applicable(kind: Any) -> list[Any]:
    return [
        pytest.param(kind, check, id=f"{kind.__name__}-{name}")
        for name, check in checks_of(kind())
        if name not in NOT_APPLICABLE
    ]


RUN = [*applicable(TabularClassifier), *applicable(TabularRegressor)]


@pytest.mark.parametrize(("kind", "check"), RUN)
@pytest.mark.filterwarnings("ignore")
def test_check(tiny_bert: Path, kind: Any, check: Check) -> None:
    check(kind(str(tiny_bert), settings=exactly(1)))


def test_every_check_is_run_or_has_a_reason() -> None:
    run = {str(parameter.id).split("-", 1)[1] for parameter in RUN}
    known = {
        name for kind in (TabularClassifier, TabularRegressor) for name, _ in checks_of(kind())
    }
    assert run | set(NOT_APPLICABLE) == known
    assert run.isdisjoint(NOT_APPLICABLE)
    assert run >= NO_DATA_NEEDED
    assert len(run) > 35


@pytest.mark.parametrize("kind", [PFitClassifier, PFitRegressor])
def test_without_the_wrapper_scikit_learn_knows_that_texts_are_expected(kind: Any) -> None:
    tags = kind().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required
