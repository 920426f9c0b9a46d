"""The desk over a model folder: predictions, evidence, cards, map, and edits that are saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from protofit.encoders.limits import token_limit
from protofit.errors import InputError
from protofit.explain.cards import interpret
from protofit.explain.editor import Editor
from protofit.explain.evidence import explain
from protofit.explain.results import Effect, Explanation, Label, PrototypeCard
from protofit.model.bundle import Bundle
from protofit.model.history import Version as Snapshot
from protofit.serve.answers import Atlas, Facts, History, Kept, Scored, Version
from protofit.serve.atlas import make_atlas
from protofit.serve.batching import Ask
from protofit.serve.questions import as_input
from protofit.serve.scoring import scored, unexplained
from protofit.storage.manifest import MODEL_MANIFEST

NEAR = 5  # training texts on a card
TOP = 25  # prototypes in the evidence
R = TypeVar("R")


class ModelDesk:
    """One model folder; edits that are kept are written back to it with their history."""

    def __init__(self, bundle: Bundle, folder: Path, jury: tuple[Any, Any] | None = None) -> None:
        self.bundle = bundle
        self.folder = folder
        self.paired = bundle.paired
        self.editor = Editor(bundle) if bundle.model.head.prototypes() is not None else None
        self.judged = jury is not None and self.editor is not None
        if jury is not None and self.editor is not None:
            self.editor.judge(*jury)
        self.version = len(bundle.history)
        self._shelf: dict[str, Any] = {}  # what does not change between edits
        self._facts = self._look()
        self._seen = stamp(folder)

    def facts(self) -> Facts:
        """What the model is, as of the last edit that was kept."""
        return self._facts

    def answer(self, asks: list[Ask]) -> list[list[Any]]:
        """All predictions in one pass, all explanations in another."""
        found: dict[int, list[Any]] = {}
        for kind, work in (("predict", self._predict), ("explain", self._explain)):
            mine = [i for i, ask in enumerate(asks) if ask.kind == kind]
            results = iter(work([item for i in mine for item in asks[i].items]) if mine else [])
            for i in mine:
                found[i] = [next(results) for _ in asks[i].items]
        return [found[i] for i in range(len(asks))]

    def prototypes(self) -> list[PrototypeCard]:
        """Cards with five nearest texts each; none for a method without prototypes."""
        if self.editor is None:
            return []
        return self._once("cards", lambda: interpret(self.bundle, n=NEAR))

    def atlas(self) -> Atlas:
        """At most 2,000 texts of the index on the two principal axes."""
        return self._once(
            "atlas", lambda: make_atlas(self.bundle, prototypes=self.editor is not None)
        )

    def warm(self, inputs: Sequence[Any]) -> None:
        """Do once what the first visitor would wait for."""
        self.prototypes()
        self.atlas()
        self._explain(inputs)

    def try_edit(self, edit: Any) -> Effect:
        """What an edit would do; the model stays as it is."""
        self._check_folder()
        action, arguments = spelled(edit)
        return self._editor().preview(action, **arguments)

    def keep_edit(self, edit: Any) -> Kept:
        """Apply an edit and write the folder; where that fails the edit is taken back."""
        self._check_folder()
        action, arguments = spelled(edit)
        editor = self._editor()
        effect = editor.apply(action, **arguments)
        try:
            self.bundle.save(self.folder)
        except BaseException:
            editor.undo()
            raise
        return self._kept(effect)

    def undo(self) -> Kept:
        """Take back the last edit and write the folder; where that fails it stays."""
        self._check_folder()
        bundle, index, edits = self.bundle, self.bundle.index, list(self.bundle.history)
        now = Snapshot.of(bundle)
        effect = self._editor().undo()
        try:
            bundle.save(self.folder)
        except BaseException:
            bundle.index, bundle.history = index, edits
            now.restore(bundle)
            raise
        return self._kept(effect)

    def history(self) -> History:
        """The edits that can be undone, oldest first."""
        notes = [] if self.editor is None else self.editor.history
        kept = [Version(note.get("action", ""), note.get("description", "")) for note in notes]
        return History(self.version, kept)

    def _kept(self, effect: Effect) -> Kept:
        self.version += 1
        self._seen = stamp(self.folder)
        self._shelf.clear()
        self._facts = self._look()
        return Kept(self.version, effect)

    def _check_folder(self) -> None:
        """Refuse to write over what a command or another server has put there meanwhile."""
        if stamp(self.folder) != self._seen:
            raise InputError(
                "the model folder was changed by something else since it was loaded",
                where=str(self.folder),
                fix="Start the server again.",
            )

    def _editor(self) -> Editor:
        return self.editor if self.editor is not None else Editor(self.bundle)  # which refuses

    def _predict(self, inputs: Sequence[Any]) -> list[Scored]:
        return scored(self.bundle, inputs)

    def _explain(self, inputs: Sequence[Any]) -> list[Explanation]:
        if self.editor is None:
            return unexplained(self.bundle, inputs, self._predict(inputs))
        return explain(self.bundle, inputs, top=TOP)

    def _once(self, name: str, make: Callable[[], R]) -> R:
        if name not in self._shelf:
            self._shelf[name] = make()
        return cast("R", self._shelf[name])

    def _look(self) -> Facts:
        bundle = self.bundle
        classes: list[Label] = [] if bundle.classes is None else list(bundle.classes.to_json())
        longest = bundle.settings.encoder.max_length
        return Facts(
            model=self.folder.resolve().name,
            version=self.version,
            task=bundle.task,
            method=bundle.settings.method,
            classes=classes,
            paired=bundle.paired,
            prototypes=0 if self.editor is None else len(self.editor),
            token_limit=token_limit(longest, bundle.tokenizer, bundle.model.encoder.config),
            examples=int(bundle.record.get("examples", 0)),
            has_index=bundle.index is not None,
            has_texts=bundle.index is not None and bundle.index.texts is not None,
            judged=self.judged,
        )


def stamp(folder: Path) -> bytes | None:
    """The list of a model folder's files with their checksums; None where there is none."""
    try:
        return (folder / MODEL_MANIFEST).read_bytes()
    except OSError:
        return None


def spelled(edit: Any) -> tuple[str, dict[str, Any]]:
    """The name of an edit of `Editor`, and its arguments."""
    arguments = {name: value for name, value in edit if name not in ("action", "items")}
    if hasattr(edit, "items"):
        arguments["texts"] = [as_input(item) for item in edit.items]
    return edit.action.replace("-", "_"), arguments
