"""A desk that needs no model: what it says of a text can be recomputed by any test."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from protofit.errors import InputError
from protofit.explain.results import (
    ChangedRow,
    Effect,
    Explanation,
    MapPoint,
    Neighbour,
    PrototypeCard,
    PrototypeEvidence,
)
from protofit.serve.answers import Atlas, Facts, History, Kept, Scored, Version
from protofit.serve.batching import Ask

CLASSES = ["billing", "delivery", "returns"]
NEAR = [Neighbour(0, 1, "billing", 0.5, "an invoice"), Neighbour(1, 2, "billing", 0.7, "a bill")]
LONG = 500  # characters from which a text is cut


def label_of(text: str) -> str:
    """The class a text gets."""
    return CLASSES[len(text) % 3]


def sure_of(text: str) -> float:
    """The probability of that class: questions are harder."""
    return 0.5 if "?" in text else 0.8


def chances_of(text: str) -> list[float]:
    """What is left is shared by the other classes."""
    sure = sure_of(text)
    return [sure if name == label_of(text) else (1 - sure) / 2 for name in CLASSES]


def card(row: int, label: str, name: str) -> PrototypeCard:
    """A prototype somewhere on the map."""
    return PrototypeCard(
        row=row, name=name, suggested=name, words=[], label=label,
        outputs=[0.8 if each == label else 0.1 for each in CLASSES], polarity=0.7, support=row + 1,
        importance=0.3, born=row, age=9, history=[], nearest=NEAR, tau=1.0, inside=1,
        neighbourhood=NEAR, labels=[], confused=[],
        decoded="an invoice twice" if row == 0 else None,
        position=(float(row), -float(row % 3)),
    )  # fmt: skip


def first_cards() -> list[PrototypeCard]:
    """Two prototypes of the first class, one of the others."""
    places = [(0, "billing"), (1, "delivery"), (2, "returns"), (3, "billing")]
    return [card(row, label, f"{label} {row}") for row, label in places]


@dataclass
class FakeDesk:
    """Remembers the passes it was asked for; `slow` seconds each."""

    paired: bool = False
    slow: float = 0.0
    indexed: bool = True
    judged: bool = True
    passes: list[list[int]] = field(default_factory=list)  # items of each ask of each pass
    threads: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
    cards: list[PrototypeCard] = field(default_factory=first_cards)
    classes: list[Any] = field(default_factory=lambda: list(CLASSES))
    before: list[Any] = field(default_factory=list)  # cards and classes before each kept edit

    def facts(self) -> Facts:
        return Facts(
            model="fake", version=len(self.kept), task="classification", method="pfit",
            classes=list(self.classes), paired=self.paired, prototypes=len(self.cards),
            token_limit=128, examples=3, has_index=self.indexed, has_texts=self.indexed,
            judged=self.judged,
        )  # fmt: skip

    def answer(self, asks: list[Ask]) -> list[list[Any]]:
        self.threads.add(threading.current_thread().name)
        self.passes.append([len(ask.items) for ask in asks])
        time.sleep(self.slow)
        if any("fail" in str(item) for ask in asks for item in ask.items):
            raise RuntimeError("the fake was told to fail")
        return [[self._one(ask.kind, item) for item in ask.items] for ask in asks]

    def _one(self, kind: str, item: Any) -> Any:
        text = item if isinstance(item, str) else " ".join(item)
        label, sure, chances = label_of(text), sure_of(text), chances_of(text)
        if kind == "predict":
            return Scored(label, sure, chances, len(text) > LONG)
        evidence = [
            PrototypeEvidence(
                row=i, name=f"{name} {i}", label=name, importance=1 / 3, outputs=chances,
                target=label, share=sure / 3, without=sure, shares=[p / 3 for p in chances],
                withouts=chances, nearest=NEAR if self.indexed else [],
                decoded="an invoice twice" if i == 0 else None,
            )
            for i, name in enumerate(CLASSES)
        ]  # fmt: skip
        strange = 0.99 if "strange" in text else 0.4
        return Explanation(
            text=item, task="classification", method="pfit", classes=list(CLASSES),
            prediction=label, probability=sure, probabilities=chances, runner_up="delivery",
            evidence=evidence, rest_count=0, rest_share=0.0, base=0.0, counter=evidence[1],
            novelty=strange if self.indexed else None, log_density=-3.0, distance=1.0,
            nearest=NEAR if self.indexed else [], position=(0.1, 0.2), truncated=len(text) > LONG,
        )  # fmt: skip

    def prototypes(self) -> list[PrototypeCard]:
        return list(self.cards)

    def atlas(self) -> Atlas:
        if not self.indexed:
            return Atlas([], (0.5, 0.2), 0, 0)
        places = [("billing", "an invoice"), ("delivery", "a parcel"), ("returns", "a refund")]
        points = [
            MapPoint((i / 3 - 0.2, -i / 2), i, label, label, i, text, "training")
            for i, (label, text) in enumerate(places)
        ]
        return Atlas(points, (0.5, 0.2), 3, 3)

    def try_edit(self, edit: Any) -> Effect:
        if not self.judged:
            return Effect(edit.action, f"{edit.action} something", {}, {}, [], 0, (3, 3), [0])
        changed = [ChangedRow(0, "a parcel", "delivery", "billing", "delivery")]
        return Effect(
            action=edit.action, description=f"{edit.action} something", changed=changed,
            before={"examples": 10, "accuracy": 0.8}, after={"examples": 10, "accuracy": 0.9},
            changed_count=1, prototypes=(3, 3), rows=[0],
        )  # fmt: skip

    def keep_edit(self, edit: Any) -> Kept:
        effect = self.try_edit(edit)
        self.before.append((list(self.cards), list(self.classes)))
        self._change(edit)
        self.kept.append(edit.action)
        return Kept(len(self.kept), effect)

    def _change(self, edit: Any) -> None:
        """What the edit does to cards and classes."""
        if edit.action == "rename":
            self.cards = [replace(each, name=edit.name) if each.row == edit.row else each
                          for each in self.cards]  # fmt: skip
        gone = {"delete": lambda: {edit.row}, "merge": lambda: set(edit.rows[1:])}
        rows = gone.get(edit.action, set)()
        self.cards = [each for each in self.cards if each.row not in rows]
        if edit.action == "add":
            self.cards.append(card(len(self.cards), edit.label, "made from texts"))
        if edit.action == "add-class":
            self.classes.append(edit.name)
            self.cards.append(card(len(self.cards), edit.name, f"{edit.name} 1"))

    def undo(self) -> Kept:
        if not self.kept:
            raise InputError("there is no edit to undo", fix="Edit something first.")
        self.kept.pop()
        self.cards, self.classes = self.before.pop()
        return Kept(len(self.kept), Effect("undo", "undo", {}, {}, [], 0, (3, 3), [0]))

    def history(self) -> History:
        return History(len(self.kept), [Version(action, action) for action in self.kept])
