"""Colours of charts and pictures, by what they mean."""

SERIES = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b3294", "#8c6d31",
)  # fmt: skip
"""Colours that people with a colour vision deficiency tell apart [1]_, for annotators and lines.

References
----------
.. [1] Okabe and Ito (2008), "Color Universal Design"; two colours were added.
"""
DASHES = ((), (6, 3), (2, 2), (8, 3, 2, 3))
"""Styles of lines: with each, the colours begin again."""

TEXT, DIM, LINE, BACK = "#1c2024", "#5b6470", "#dfe3e8", "#ffffff"

CLASSES = {
    TEXT: "text", DIM: "dim", LINE: "line", BACK: "back",
    **{color: f"series-{place}" for place, color in enumerate(SERIES)},
}  # fmt: skip
"""What a page calls the colours that it sets anew for a dark screen."""
