"""Evidence, cards and edits as methods of the estimators; the work is done in `explain`.

The one place of this layer that looks up: `explain` is imported when it is first asked for
(docs/decisions/0009-explain-layer.md).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from protofit.estimators.fitting import check_lengths
from protofit.estimators.inputs import as_inputs, as_values
from protofit.model.bundle import Bundle

if TYPE_CHECKING:
    import numpy as np

    from protofit.decoder.quality import Quality
    from protofit.explain.editor import Editor
    from protofit.explain.results import Explanation, Glance, PrototypeCard


class Explained:
    """Mixin: what a fitted estimator says about itself."""

    def _fitted(self) -> Bundle:
        raise NotImplementedError

    def _encoded(self, values: list[Any]) -> np.ndarray:
        raise NotImplementedError

    def _seed(self) -> int:
        raise NotImplementedError

    def explain(
        self, X: Any, *, top: int | None = 5, neighbours: int = 3
    ) -> Explanation | list[Explanation]:
        """Why a text is predicted as it is; a list of texts gives a list.

        A single text is a str, a single pair a tuple of two. `top` prototypes are listed (None:
        all), each with its `neighbours` nearest training texts where the model has an index.
        """
        from protofit.explain.evidence import explain

        bundle = self._fitted()
        single = isinstance(X, str) or (bundle.paired and _is_pair(X))
        found = explain(bundle, as_inputs([X] if single else X), top=top, neighbours=neighbours)
        return found[0] if single else found

    def index(self, X: Any, y: Any, *, keep_texts: bool = False, sample_weight: Any = None) -> Any:
        """Attach an index of (training) texts: features and labels; texts only if `keep_texts`."""
        import numpy as np

        from protofit.explain.attach import attach_index

        bundle, inputs, values = self._fitted(), as_inputs(X), as_values(y)
        check_lengths(inputs, values)
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float32)
        labels = self._encoded(values)
        attach_index(bundle, inputs, labels, keep_texts=keep_texts, weights=weights)
        return self

    def interpret(self, n: int = 10, tau: float | None = None) -> list[PrototypeCard]:
        """A card for each prototype: nearest texts, neighbourhood within `tau`, name, use."""
        from protofit.explain.cards import interpret

        return interpret(self._fitted(), n=n, tau=tau)

    def glance(self, X: Any = None, y: Any = None) -> Glance:
        """Everything a report shows, measured on X and y, else on the index."""
        from protofit.explain.glance import glance

        bundle = self._fitted()
        inputs = None if X is None else as_inputs(X)
        labels = None if y is None else self._encoded(as_values(y))
        return glance(bundle, inputs, labels)

    def fit_decoder(self, X: Any) -> Quality:
        """Fit a decoder to (training) texts, the encoder as it is; its figures on a tenth of them.

        The model then turns feature vectors, such as prototypes, into text. It can repeat what it
        was fitted on: do not share it where the texts are private.
        """
        from protofit.decoder.attach import fit_decoder

        return fit_decoder(self._fitted(), as_inputs(X), seed=self._seed())

    def decode(self, X: Any) -> list[Any]:
        """What the decoder makes of feature vectors (n, D), or of the features of texts."""
        import numpy as np

        from protofit.decoder.attach import decode

        vectors = isinstance(X, np.ndarray) and X.dtype.kind == "f"
        return decode(self._fitted(), X if vectors else as_inputs(X))

    @property
    def prototypes(self) -> Editor:
        """The prototypes: read them like a list, edit them by row, undo, save."""
        from protofit.explain.editor import Editor

        bundle = self._fitted()
        known: Editor | None = self.__dict__.get("_editor")
        if known is None or known.bundle is not bundle:
            known = Editor(bundle, partial(self._adopt, bundle))
            self.__dict__["_editor"] = known
        return known

    def _adopt(self, bundle: Bundle) -> None:
        raise NotImplementedError


def _is_pair(X: Any) -> bool:
    return isinstance(X, tuple) and len(X) == 2 and all(isinstance(side, str) for side in X)
