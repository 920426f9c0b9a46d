"""What an explanation consists of.

In classification a share is a part of the probability P(y = target | x); in regression it is a
part of the predicted value, in the unit of the targets, and `target` is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protofit.explain.plain import Plain

Text = str | tuple[str, str]  # a text, or a pair of texts
Label = str | int | bool | float  # a class, or a value in regression


@dataclass(frozen=True)
class Neighbour(Plain):
    """A training text near a prototype, or near a text."""

    position: int  # in the index, from 0
    row: int  # as its table counts rows (a list from 0, a file by lines); −1: added by an edit
    label: Label  # its class, or its target
    distance: float  # L2 distance of the features
    text: Text | None  # None where the model keeps no texts


@dataclass(frozen=True)
class PrototypeEvidence(Plain):
    """What one prototype had to say about one text."""

    row: int  # of the head; what edits call it by
    name: str  # given by a person, else suggested: "label 3" or "label: its words"
    label: Label  # the class it stands for; in regression the value it says
    importance: float  # z_k(x); sums to 1 over all prototypes of a mixture
    outputs: list[float]  # P(y|p_k) in the order of `classes`; in regression [value]
    target: Label | None  # the class whose probability `share` and `without` are about
    share: float  # exact additive part of P(target|x), or of the value
    without: float | None  # P(target|x), or the value, if it were removed; None: it is the only one
    shares: list[float]  # the same as `share` for every class
    withouts: list[float] | None  # the same as `without` for every class
    nearest: list[Neighbour]  # training texts nearest to the prototype; [] without an index
    decoded: str | None = None  # text a decoder makes of the prototype; None without a decoder


@dataclass(frozen=True)
class Explanation(Plain):
    """Why one text was predicted as it was."""

    text: Text
    task: str  # "classification" or "regression"
    method: str  # name of the method
    classes: list[Label]  # in the order of `probabilities`; [] in regression
    prediction: Label  # the most probable class, or the value
    probability: float | None  # P(prediction|x); None in regression
    probabilities: list[float]  # P(y|x) in the order of `classes`; [] in regression
    runner_up: Label | None  # the second most probable class; None in regression
    evidence: list[PrototypeEvidence]  # the strongest first, by |share|
    rest_count: int  # prototypes not listed in `evidence`
    rest_share: float  # what those add together
    base: float  # what belongs to no prototype (0 in a mixture)
    counter: PrototypeEvidence | None  # strongest prototype of the runner-up; target = runner_up
    novelty: float | None  # share of training texts nearer to a prototype; None without an index
    log_density: float | None  # log of the (unnormalised) density; None without prototypes
    distance: float | None  # L2 distance to the nearest prototype; None without prototypes
    nearest: list[Neighbour]  # training texts nearest to the text itself; [] without an index
    position: tuple[float, float] | None  # on the map (`Glance.map`); None without prototypes
    truncated: bool  # the text was longer than the model reads

    @property
    def total(self) -> float:
        """Σ of all shares: the probability of the prediction, or the value."""
        return sum(item.share for item in self.evidence) + self.rest_share + self.base

    def __str__(self) -> str:
        from protofit.explain.wording import told

        return told(self)


@dataclass(frozen=True)
class LabelShare(Plain):
    """How much of something has a label."""

    label: Label
    count: int
    share: float  # of the whole, 0..1


@dataclass(frozen=True)
class Confused(Plain):
    """A training text near a prototype of another label."""

    neighbour: Neighbour  # with its own label
    predicted: Label  # what the model says


@dataclass(frozen=True)
class Use(Plain):
    """How important a prototype was in a part of the training."""

    step: int  # the last of the part
    importance: float  # mean z_k over its batches


@dataclass(frozen=True)
class PrototypeCard(Plain):
    """One prototype as a person reads it.

    Everything about training texts is empty (0, [], None) where the model has no index.
    """

    row: int  # of the head; what edits call it by
    name: str  # given by a person, else `suggested`
    suggested: str  # from distinctive words, where there are texts
    words: list[str]  # the distinctive words themselves
    label: Label  # the class it stands for; in regression the value it says
    outputs: list[float]  # P(y|p_k) in the order of the classes; in regression [value]
    polarity: float  # P of its most probable class minus the second; regression: value − mean
    support: int  # training texts for which it is the most important prototype
    importance: float | None  # mean z_k over the training texts
    born: int | None  # step it was created at
    age: int | None  # steps from its birth to the end of training
    history: list[Use]  # over training, from its birth on, oldest first; [] if unknown
    nearest: list[Neighbour]  # n nearest training texts
    tau: float | None  # radius of the neighbourhood, an L2 distance
    inside: int  # training texts within tau
    neighbourhood: list[Neighbour]  # the nearest of those, at most n of `interpret`
    labels: list[LabelShare]  # of the texts within tau; of `nearest` where none is
    confused: list[Confused]  # nearest texts of other labels that are nearest to this prototype
    decoded: str | None  # text a decoder makes of it; None without a decoder
    position: tuple[float, float]  # on the map


@dataclass(frozen=True)
class MapPoint(Plain):
    """A text on the map."""

    position: tuple[float, float]
    row: int  # as the source counts its rows: lines of a file, or places from 0
    label: Label | None
    predicted: Label
    prototype: int  # row of its most important prototype
    text: Text | None
    source: str  # "training" (from the index) or "data" (given)


@dataclass(frozen=True)
class Map(Plain):
    """Two principal axes of the features of prototypes and texts."""

    points: list[MapPoint]  # texts, at most 5,000
    axes: list[list[float]]  # (2, D) unit vectors
    centre: list[float]  # (D,)
    explained: tuple[float, float]  # share of the variance along each axis
    shown: int  # texts on the map
    total: int  # texts there are


@dataclass(frozen=True)
class CalibrationBin(Plain):
    """Predictions of about the same confidence."""

    lower: float
    upper: float
    count: int
    confidence: float | None  # mean; None where the bin is empty
    accuracy: float | None


@dataclass(frozen=True)
class TraceRow(Plain):
    """K at one step (a thinned trace; births and deaths are those since the row before)."""

    step: int
    prototypes: int
    born: int
    died: int
    loss: float | None


@dataclass(frozen=True)
class Overlap(Plain):
    """Two prototypes whose neighbourhoods are much the same."""

    rows: tuple[int, int]
    names: tuple[str, str]
    labels: tuple[Label, Label]
    distance: float  # L2, between the two
    relative: float  # distance over the median distance of training texts to their prototype
    shared: float | None  # Jaccard of their nearest training texts


@dataclass(frozen=True)
class LabelError(Plain):
    """A text whose neighbours have another label."""

    row: int  # as the source counts its rows: lines of a file, or places from 0
    text: Text | None
    label: Label  # as given
    suggested: Label  # of most of its neighbours; regression: their mean
    doubt: float  # share of its neighbours with another label; regression: |gap| / spread
    probability: float | None  # P(given label|x)
    nearest: list[Neighbour]


@dataclass(frozen=True)
class NovelText(Plain):
    """A text far from all prototypes."""

    row: int
    text: Text | None
    label: Label | None
    predicted: Label
    novelty: float | None
    distance: float  # to the nearest prototype


@dataclass(frozen=True)
class Glance(Plain):
    """Everything a report shows, as plain data."""

    task: str
    method: str
    classes: list[Label]  # [] in regression
    summary: dict[str, Any]  # encoder, examples, steps, seconds, seed, K, preset, edits
    measured_on: str | None  # "data" (given), "training" (the index), or None: nothing to measure
    metrics: dict[str, Any]  # of evaluation.metrics, without the confusion; {} where none
    confusion: list[list[int]]  # [true][predicted]; [] in regression
    per_class: list[dict[str, Any]]  # label, count, precision, recall, f1
    calibration: list[CalibrationBin]
    values: list[tuple[float, float]]  # regression: (target, prediction), at most 5,000
    map: Map
    cards: list[PrototypeCard]
    trace: list[TraceRow]
    overlaps: list[Overlap]  # the nearest pairs first
    label_errors: list[LabelError]  # the most doubtful first
    novel: list[NovelText]  # the most novel first
    has_index: bool
    has_texts: bool
    decoder: dict[str, Any] | None = None  # its figures and verdict; None without a decoder
    untrained: bool = False  # label errors are those of the encoder as it was before training


@dataclass(frozen=True)
class ChangedRow(Plain):
    """An evaluation text whose prediction an edit changed."""

    row: int  # of the evaluation set, from 0
    text: Text
    truth: Label
    before: Label
    after: Label


@dataclass(frozen=True)
class Effect(Plain):
    """What an edit does to the predictions of the evaluation set."""

    action: str  # rename, delete, merge, add, add_class, replace, undo
    description: str  # one sentence for people
    before: dict[str, Any]  # examples, accuracy, macro_f1, log_loss, ece (or mse …); {} unjudged
    after: dict[str, Any]  # the same after it; examples_new, accuracy_new of a class it added
    changed: list[ChangedRow]  # texts predicted differently, at most 100
    changed_count: int  # all of them
    prototypes: tuple[int, int]  # K before and after
    rows: list[int]  # rows of the head that the edit made or changed
