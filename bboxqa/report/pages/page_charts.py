"""The charts of a page."""

from collections.abc import Mapping
from typing import Any


def page_charts(
    summary: Mapping[str, Any], settings: Mapping[str, Any], diagnosis: Mapping[str, Any] | None
) -> dict[str, str]:
    """Return each chart of a page as an svg element, by its name."""
    names = (
        "intervals",
        "decomposition",
        "sensitivity",
        "pair_matrix",
        "category_intervals",
        "confusion_matrix",
    )
    return dict.fromkeys(names, "")
