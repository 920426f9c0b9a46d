"""Edit the prototypes of a model: rename, delete, merge, move, add, a new class; undo each.

An edit never trains: the encoder stays, a copy of the head is changed and takes the place of the
old one, which is kept, so that undoing is exact. Nothing is on disk before `save`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protofit.data.labels import ClassOrder
from protofit.errors import InputError
from protofit.estimators.fitting import check_lengths
from protofit.estimators.inputs import as_inputs, as_values
from protofit.explain.cards import card
from protofit.explain.effect import Jury, Verdict, changed_rows, compare, judge
from protofit.explain.reading import Reading, head_of
from protofit.explain.results import Effect, PrototypeCard
from protofit.methods.editable import Editable, copied
from protofit.model.bundle import Bundle
from protofit.model.history import Version, put_head

ACTIONS = ("rename", "delete", "merge", "replace", "add", "add_class")
SHOWN = 100  # changed texts that an effect lists
FIGURES = ("accuracy", "macro_f1", "log_loss", "mse", "pearson")  # of an effect, in the history


class Editor(Sequence[PrototypeCard]):
    """The prototypes of a model: read them by place, change them by row."""

    def __init__(self, bundle: Bundle, changed: Callable[[], None] | None = None) -> None:
        head_of(bundle)
        self.bundle = bundle
        self.changed = changed or _nothing  # called after every edit: classes may be new
        self.jury: Jury | None = None

    def __len__(self) -> int:
        return len(Reading.of(self.bundle).rows)

    def __getitem__(self, place: Any) -> Any:
        reading = Reading.of(self.bundle)
        if isinstance(place, slice):
            return [card(reading, k) for k in range(len(reading.rows))[place]]
        return card(reading, range(len(reading.rows))[place])

    def __iter__(self) -> Iterator[PrototypeCard]:
        return iter(self[:])

    @property
    def rows(self) -> list[int]:
        """Rows of the active prototypes: what edits call them by."""
        return list(Reading.of(self.bundle).rows)

    @property
    def history(self) -> list[dict[str, Any]]:
        """The edits that can be undone, oldest first: action, description, when, figures."""
        return [dict(version.note) for version in self.bundle.history]

    def judge(self, X: Any, y: Any) -> dict[str, Any]:
        """Measure every edit from now on with these texts and labels; the figures as they are.

        Texts of classes that the model does not have are counted once an edit adds their class.
        """
        inputs, values = as_inputs(X), as_values(y)
        check_lengths(inputs, values)
        if self.bundle.classes is None:
            values = self._encoded(values).tolist()
        jury = Jury(inputs, values, self.bundle.features(self.bundle.tokens(inputs)))
        verdict = judge(self.bundle, jury)
        if not verdict.known.any():
            raise InputError(
                "the model knows no class of the evaluation set", fix="Give labels it was made for."
            )
        self.jury = jury
        return verdict.figures(verdict.known)

    def preview(self, action: str, **arguments: Any) -> Effect:
        """What an edit would do; the model stays as it is."""
        effect = self.apply(action, **arguments)
        self._take_back()
        return effect

    def apply(self, action: str, **arguments: Any) -> Effect:
        """An edit by its name, for commands and servers: one of `ACTIONS`."""
        if action not in ACTIONS:
            raise InputError(
                f"there is no edit '{action}'", fix=f"Choose one of: {', '.join(ACTIONS)}."
            )
        effect: Effect = getattr(self, action)(**arguments)
        return effect

    def rename(self, row: int, name: str) -> Effect:
        """Call a prototype by a name of your own; an empty name gives the suggested one back."""
        reading = Reading.of(self.bundle)
        old = reading.name(reading.place(row))
        name = " ".join(name.split())
        new = f"is now called '{name}'" if name else "has the suggested name again"
        said = f"prototype {row} ({old}) {new}"

        def change() -> list[int]:
            self._name(row, name)
            return [row]

        return self._edit("rename", said, change)

    def delete(self, row: int, *, force: bool = False) -> Effect:
        """Remove a prototype; the last one of a class only with `force`."""
        reading = Reading.of(self.bundle)
        k = reading.place(row)
        self._keep_one(reading, k, force=force)
        said = f"prototype {row} ({reading.name(k)}) deleted"

        def change() -> list[int]:
            head = copied(reading.head)
            head.remove(row)
            self._name(row, "")
            put_head(self.bundle, head, self.bundle.classes)
            return []

        return self._edit("delete", said, change)

    def merge(self, rows: Sequence[int]) -> Effect:
        """Put the mean of several prototypes in the place of the first."""
        reading = Reading.of(self.bundle)
        places = [reading.place(row) for row in rows]
        if len(set(rows)) < 2 or len(set(rows)) != len(rows):
            raise InputError("merging needs two different prototypes", fix="Name their rows.")
        said = f"prototypes {', '.join(map(str, rows))} ({reading.name(places[0])} …) merged"

        def change() -> list[int]:
            head = copied(reading.head)
            kept = head.merge(list(rows))
            for row in rows[1:]:
                self._name(row, "")
            put_head(self.bundle, head, self.bundle.classes)
            return [kept]

        return self._edit("merge", said, change)

    def replace(self, row: int) -> Effect:
        """Put a prototype onto the nearest training text of its class, as ProSeNet does."""
        reading = Reading.of(self.bundle)
        k = reading.place(row)
        if reading.index is None:
            raise InputError("the model has no index of training texts", fix="Call index(X, y).")
        position = reading.nearest_own(k)
        said = f"prototype {row} put onto text {int(reading.index.rows[position])}"
        vector = torch.from_numpy(reading.index.features[position].astype(np.float32))

        def change() -> list[int]:
            head = copied(reading.head)
            head.move(row, vector)
            put_head(self.bundle, head, self.bundle.classes)
            return [row]

        return self._edit("replace", said, change)

    def add(self, texts: Any, label: Any) -> Effect:
        """A new prototype of a class (or with a target): the mean of the features of the texts."""
        texts = as_inputs(texts)
        features = self._features(texts)
        value = float(self._encoded([label])[0])
        said = f"prototype of {label} added from {_counted(len(texts))}"

        def change() -> list[int]:
            head = head_of(self.bundle).with_room()
            row = head.add(features.mean(dim=0), self._inner(value))
            put_head(self.bundle, head, self.bundle.classes)
            self._remember(texts, features, value)
            return [row]

        return self._edit("add", said, change)

    def add_class(self, name: Any, texts: Any) -> Effect:
        """A new class with one prototype, the mean of the features of a handful of texts.

        Old prototypes believe in the new class as in their least likely one.
        """
        texts, classes = as_inputs(texts), self._extended(name)
        features = self._features(texts)
        index = len(classes) - 1
        said = f"class {classes.classes[-1]} added from {_counted(len(texts))}"

        def change() -> list[int]:
            wider: Editable = head_of(self.bundle).with_class()
            head = wider.with_room()
            row = head.add(features.mean(dim=0), index)
            put_head(self.bundle, head, classes)
            self._remember(texts, features, index)
            return [row]

        return self._edit("add_class", said, change)

    def undo(self) -> Effect:
        """Take the last edit back: the head, names and classes are bit for bit what they were."""
        if not self.bundle.history:
            fix = "Make an edit first; it stays with the model once that is saved."
            raise InputError("there is no edit to undo", where="history", fix=fix)
        before, size = self._verdict(), len(self)
        said = f"undone: {self.bundle.history[-1].note.get('description', 'the last edit')}"
        self._take_back()
        return self._effect("undo", said, before, size, [])

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model folder with its history, in one step."""
        self.bundle.save(Path(folder))

    def _edit(self, action: str, description: str, change: Callable[[], list[int]]) -> Effect:
        """Keep what is replaced, change, measure; a failed change leaves everything as it was."""
        before, size = self._verdict(), len(self)
        version = Version.of(self.bundle)
        try:
            rows = change()
            effect = self._effect(action, description, before, size, rows)
        except BaseException:
            version.restore(self.bundle)
            raise
        self.changed()
        note = {
            "action": action,
            "description": description,
            "when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "before": {name: v for name, v in effect.before.items() if name in FIGURES},
            "after": {name: v for name, v in effect.after.items() if name in FIGURES},
        }
        self.bundle.history.append(
            Version(version.head, version.classes, version.names, version.indexed, note)
        )
        return effect

    def _effect(
        self, action: str, description: str, before: Verdict | None, size: int, rows: list[int]
    ) -> Effect:
        after, changed = self._verdict(), []
        old: dict[str, Any] = {}
        new: dict[str, Any] = {}
        if self.jury is not None and before is not None and after is not None:
            old, new = compare(before, after)
            changed = changed_rows(self.bundle, self.jury, before, after)
        return Effect(
            action=action,
            description=description,
            before=old,
            after=new,
            changed=changed[:SHOWN],
            changed_count=len(changed),
            prototypes=(size, len(self)),
            rows=rows,
        )

    def _take_back(self) -> None:
        self.bundle.history.pop().restore(self.bundle)
        self.changed()

    def _verdict(self) -> Verdict | None:
        return None if self.jury is None else judge(self.bundle, self.jury)

    def _features(self, texts: Sequence[Any]) -> Tensor:
        if not len(texts):
            raise InputError("there are no texts to make a prototype of", fix="Give at least one.")
        for i, text in enumerate(texts):
            if not "".join(text).strip():
                raise InputError(f"text {i} is empty", fix="Leave it out.")
        return self.bundle.features(self.bundle.tokens(texts))

    def _remember(self, texts: Sequence[Any], features: Tensor, label: float) -> None:
        """The texts of an edit join the index, where there is one."""
        if self.bundle.index is not None:
            labels = np.full(len(texts), label)
            self.bundle.index = self.bundle.index.extended(features.cpu().numpy(), labels, texts)

    def _encoded(self, labels: Sequence[Any]) -> np.ndarray:
        classes = self.bundle.classes
        if classes is not None:
            return np.asarray(classes.encode(labels))
        try:
            values = np.asarray([float(value) for value in labels])
        except (TypeError, ValueError) as error:
            raise InputError("a target is not a number", fix="Give finite numbers.") from error
        if not np.isfinite(values).all():
            raise InputError("a target is not finite", fix="Give finite numbers.")
        return values

    def _inner(self, value: float) -> float:
        """A target in the unit of the head; a class index as it is."""
        if self.bundle.classes is not None:
            return value
        config = self.bundle.model.config
        return float((value - config.target_mean) / config.target_scale)

    def _extended(self, name: Any) -> ClassOrder:
        """The classes with one more at the end, of the type of the others."""
        classes = self.bundle.classes
        if classes is None:
            raise InputError("a regression model has no classes", fix="Use add(texts, target).")
        kind = type(classes.classes[0])
        if kind is bool:
            raise InputError("true and false are all the classes there are", fix="Rename them.")
        if kind is int and isinstance(name, str) and name.strip().lstrip("-").isdigit():
            name = int(name)
        if kind is str:
            name = " ".join(str(name).split())
        if name == "":
            raise InputError("the new class has no name", fix="Give it one.")
        if name in classes.classes:
            raise InputError(f"the class '{name}' is there already", fix="Choose another name.")
        return ClassOrder((*classes.classes, name))

    def _name(self, row: int, name: str) -> None:
        names = {key: value for key, value in self.bundle.names.items() if key != row}
        self.bundle.names = {**names, row: name} if name else names

    def _keep_one(self, reading: Reading, k: int, *, force: bool) -> None:
        if len(reading.rows) == 1:
            raise InputError("it is the only prototype of the model", fix="Add another first.")
        if force or reading.regression or (reading.groups == reading.groups[k]).sum() > 1:
            return
        raise InputError(
            f"it is the last prototype of the class {reading.labels_of(k)}",
            where=f"prototype {reading.rows[k]}",
            fix="Add another one first, or force it: the class is then hardly predicted.",
        )


def _counted(texts: int) -> str:
    return "1 text" if texts == 1 else f"{texts} texts"


def _nothing() -> None:
    """What happens after an edit where nobody listens."""
