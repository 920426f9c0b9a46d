"""The page: template, style, script and data in one string."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from protofit._version import __version__
from protofit.explain.results import Glance
from protofit.report import panels, view
from protofit.report.charts import RAMP
from protofit.report.library import chart_script, check_library, library_note
from protofit.report.points import map_data
from protofit.report.wording import figure, percent

LIMIT = 3_000_000  # bytes of the page
TEXT_BUDGETS = (1_000_000, 500_000, 150_000, 0)  # bytes of the texts on the map, the best first
SECTIONS = (
    ("overview", "Overview"),
    ("quality", "Quality"),
    ("map", "Map"),
    ("prototypes", "Prototypes"),
    ("growth", "Growth"),
    ("overlaps", "Overlaps"),
    ("errors", "Label errors"),
    ("novel", "Novel texts"),
)


def report_page(glance: Glance, title: str, source: str | None = None) -> str:
    """One HTML document about `glance`; it loads nothing and stays below `LIMIT`."""
    check_library()
    library = chart_script()
    page = ""
    for budget in TEXT_BUDGETS:
        page = _page(glance, title, source, library, budget)
        if len(page.encode()) <= LIMIT:
            break
    return page


def _page(glance: Glance, title: str, source: str | None, library: str, budget: int) -> str:
    from markupsafe import Markup

    plot = panels.prototype_map(glance)
    quality, growth = list(panels.quality(glance)), list(panels.growth(glance))
    drawn = [*quality, *growth, *([plot] if plot else [])]
    specs = {panel.id: panel.spec for panel in drawn}
    data = {"charts": specs, "sparks": {}, **map_data(glance, budget)}
    if sparks := panels.sparks(glance):
        specs["spark"], data["sparks"] = sparks
    scripts = [_inline(library), _inline(_asset("report.js"))]
    return _encodable(
        _template().render(
            **view.overview(glance, source),
            **view.cards(glance),
            **view.checks(glance),
            title=title,
            version=__version__,
            sections=SECTIONS,
            quality_charts=quality,
            growth_charts=growth,
            sparks=set(data["sparks"]),
            growth_lead=panels.growth_lead(glance),
            map_panel=plot,
            ramp=", ".join(RAMP),
            hue={str(name): i for i, name in enumerate(glance.classes)},
            notes=_notes(glance, source),
            library_note=library_note(),
            css=Markup(_asset("report.css")),  # noqa: S704 - ours
            data=Markup(in_script(data)),  # noqa: S704 - escaped there
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - ours and the library's
            script_sources=Markup(" ".join(map(_hash, scripts))),  # noqa: S704 - base64
        )
    )


def in_script(data: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever the texts say."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return _encodable(text)


def _encodable(text: str) -> str:
    """The text with half characters, which UTF-8 cannot hold, as question marks."""
    return text.encode("utf-8", "replace").decode()


def _inline(script: str) -> str:
    """A script that no HTML parser cuts short; the page and its hash must see the same bytes."""
    script = script.replace("\r\n", "\n").replace("\r", "\n")
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(script: str) -> str:
    """A source expression of the content security policy: only these scripts may run."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _asset(name: str) -> str:
    return (files("protofit.report") / "assets" / name).read_text(encoding="utf-8")


def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = percent
    environment.filters["figure"] = figure
    return environment.from_string(_asset("report.html"))


def _notes(glance: Glance, source: str | None) -> list[str]:
    notes = []
    if source is not None:
        notes.append(f"Texts given: {source}.")
    notes.append(
        "Rows of a file are its lines (the heading of a table is line 1); of texts that came as "
        "Python lists, places from 0."
    )
    if glance.has_index:
        notes.append(
            "Support: training texts for which a prototype is the most important one. Neighbours: "
            "training texts at the least L2 distance in the space of the features."
        )
    notes.append(
        "Polarity: the probability a prototype gives its most probable class, less that of the "
        "second."
        if glance.classes
        else "Polarity: the value a prototype says, less the mean of all."
    )
    if not glance.has_texts:
        can = ", but a decoder that can repeat parts of them" if glance.decoder else ""
        notes.append(f"The model folder holds no training texts{can}.")
    return notes
