"""The chart library: in the extra `report`, and loaded only when a report is written."""

from __future__ import annotations

from functools import cache
from typing import Any

from protofit.errors import InputError

EXPOSED = "window.vegaEmbed = vegaEmbed;"  # all that the page's own script calls


def check_library() -> None:
    """Raise one sentence if the extra `report` is not installed."""
    try:
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"a report needs the package {error.name}, which is not installed",
            where="protofit report",
            fix="Install it: pip install 'protofit[report]'.",
        ) from error


@cache
def chart_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that loads nothing."""
    import vl_convert

    return str(vl_convert.javascript_bundle(EXPOSED))


def library_note() -> str:
    """Whose charts they are, for the foot of the page."""
    import vl_convert

    vega, lite = vl_convert.get_vega_version(), vl_convert.get_vegalite_versions()[-1]
    return f"Vega {vega} and Vega-Lite {lite}, © University of Washington Interactive Data Lab and contributors, BSD-3-Clause."  # noqa: E501


def compiled(spec: dict[str, Any]) -> dict[str, Any]:
    """The Vega specification of a Vega-Lite one; raises ValueError where it is not valid."""
    import vl_convert

    made: dict[str, Any] = vl_convert.vegalite_to_vega(spec)
    return made
