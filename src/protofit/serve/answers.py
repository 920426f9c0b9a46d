"""What the API answers beside the results of `explain`; every field is documented."""

from __future__ import annotations

from dataclasses import dataclass, field

from protofit.explain.plain import Plain
from protofit.explain.results import Effect, Label, MapPoint, PrototypeCard


@dataclass(frozen=True)
class Problem(Plain):
    """Why a request was refused."""

    error: str  # what was found
    where: str = ""
    fix: str = ""  # what to do


@dataclass(frozen=True)
class Scored(Plain):
    """The most probable class with all probabilities, or a number."""

    prediction: Label
    probability: float | None  # P(prediction|x); None in regression
    probabilities: list[float]  # in the order of `classes`; [] in regression
    truncated: bool  # the text was longer than the model reads


@dataclass(frozen=True)
class Prediction(Scored):
    """`Scored` with the names of the classes."""

    classes: list[Label]


@dataclass(frozen=True)
class Predictions(Plain):
    """One result for each item, in order."""

    classes: list[Label]
    results: list[Scored]


@dataclass(frozen=True)
class Cards(Plain):
    """All prototypes of the model."""

    prototypes: list[PrototypeCard]


@dataclass(frozen=True)
class Atlas(Plain):
    """The training texts on the map; prototypes carry their own positions."""

    points: list[MapPoint]
    explained: tuple[float, float]  # share of the variance along each axis
    shown: int  # texts on the map
    total: int  # texts there are


@dataclass(frozen=True)
class Facts(Plain):
    """What the model is."""

    model: str
    version: int  # counts the edits that were kept, and the undone ones with them
    task: str
    method: str
    classes: list[Label]  # [] in regression
    paired: bool  # it reads pairs of texts
    prototypes: int
    token_limit: int  # tokens of a text that are read
    examples: int  # training texts
    has_index: bool
    has_texts: bool
    judged: bool  # an evaluation set was given: edits show their effect


@dataclass(frozen=True)
class Health(Plain):
    """What is served, its limits, and how much it has answered."""

    status: str
    protofit: str
    edits: bool  # edits are allowed
    limits: dict[str, float]
    served: dict[str, int]
    facts: Facts


@dataclass(frozen=True)
class Kept(Plain):
    """An edit that was kept as a new version."""

    version: int
    effect: Effect


@dataclass(frozen=True)
class Version(Plain):
    """One kept edit."""

    action: str
    description: str


@dataclass(frozen=True)
class History(Plain):
    """The edits that were kept, oldest first; the last can be undone."""

    version: int
    edits: list[Version] = field(default_factory=list)
