"""Versions of a model that was edited: what an edit replaced, so that undoing is exact.

In a model folder, `history/` holds `edits.json` (a line of facts about each edit) and the tensors
of the head before it, `0000.safetensors` onwards. The encoder is never edited.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from protofit.config.fields import to_dict
from protofit.data.labels import ClassOrder
from protofit.errors import ModelFolderError
from protofit.methods.base import HeadShape, Method
from protofit.methods.registry import build_method
from protofit.model.build import label_arguments
from protofit.storage.atomic import write_file
from protofit.storage.tensors import load_tensors, save_tensors

if TYPE_CHECKING:
    from protofit.model.bundle import Bundle

HISTORY = "history"
EDITS_FILE = "edits.json"
NAMES_FILE = "prototypes.json"


@dataclass(frozen=True)
class Version:
    """All that an edit may replace."""

    head: Method
    classes: ClassOrder | None
    names: dict[int, str]  # of prototypes, by row
    indexed: int | None  # texts in the index; None: no index
    note: dict[str, Any] = field(default_factory=dict)  # of the edit that came after it

    @classmethod
    def of(cls, bundle: Bundle, note: dict[str, Any] | None = None) -> Version:
        """The bundle as it is; its head must not be changed in place afterwards."""
        indexed = None if bundle.index is None else len(bundle.index)
        return cls(bundle.model.head, bundle.classes, dict(bundle.names), indexed, note or {})

    def restore(self, bundle: Bundle) -> None:
        """Make the bundle what it was."""
        put_head(bundle, self.head, self.classes)
        bundle.names = dict(self.names)
        if bundle.index is not None and self.indexed is not None:
            bundle.index = bundle.index.first(self.indexed)


def put_head(bundle: Bundle, head: Method, classes: ClassOrder | None) -> None:
    """Give the model another head, and the class names that go with it."""
    bundle.model.head = head
    if classes is not None and classes != bundle.classes:
        names = label_arguments(classes)
        bundle.model.config.id2label = names["id2label"]
        bundle.model.config.label2id = names["label2id"]
        bundle.model.num_labels = len(classes)
    bundle.classes = classes
    bundle.model.sync_config()
    bundle.cache.clear()


def save_history(folder: Path, versions: list[Version]) -> None:
    """Write `history/`; nothing where there is no version."""
    if not versions:
        return
    (folder / HISTORY).mkdir()
    for number, version in enumerate(versions):
        save_tensors(folder / HISTORY / f"{number:04}.safetensors", version.head.state_dict())
    facts = [_facts(version) for version in versions]
    write_file(folder / HISTORY / EDITS_FILE, json.dumps(facts, indent=1) + "\n")


def load_history(folder: Path, model: Any) -> list[Version]:
    """The versions of a folder, oldest first."""
    path = folder / HISTORY / EDITS_FILE
    if not path.is_file():
        return []
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return [_version(folder, number, item, model) for number, item in enumerate(facts)]
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFolderError(
            f"the history of edits is garbled ({' '.join(str(error).split())[:200]})",
            where=str(path),
            fix="Restore the folder from a copy.",
        ) from error


def save_names(folder: Path, names: dict[int, str]) -> None:
    """Write `prototypes.json`; nothing where no prototype was named."""
    if names:
        content = {"names": {str(row): names[row] for row in sorted(names)}}
        write_file(folder / NAMES_FILE, json.dumps(content, indent=1) + "\n")


def load_names(folder: Path) -> dict[int, str]:
    """Names of prototypes by their rows."""
    path = folder / NAMES_FILE
    if not path.is_file():
        return {}
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["names"]
        return {int(row): str(name) for row, name in names.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFolderError(
            "the names of the prototypes are garbled", where=str(path), fix="Remove its names."
        ) from error


def _facts(version: Version) -> dict[str, Any]:
    return {
        "edit": version.note,
        "head": to_dict(version.head.config),
        "outputs": version.head.shape.outputs,
        "classes": None if version.classes is None else version.classes.to_json(),
        "names": {str(row): name for row, name in version.names.items()},
        "indexed": version.indexed,
    }


def _version(folder: Path, number: int, facts: dict[str, Any], model: Any) -> Version:
    shape = HeadShape(
        model.head.shape.dimension, int(facts["outputs"]), cast("Any", model.config.task)
    )
    head = build_method(model.config.method, facts["head"], shape)
    head.load_state_dict(load_tensors(folder / HISTORY / f"{number:04}.safetensors"))
    head.eval()
    classes = None if facts["classes"] is None else ClassOrder.from_json(facts["classes"])
    names = {int(row): str(name) for row, name in facts["names"].items()}
    return Version(head, classes, names, facts["indexed"], dict(facts["edit"]))
