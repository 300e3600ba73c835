"""Colours of charts and pictures, by what they mean."""

SERIES = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b3294", "#8c6d31",
)  # fmt: skip
"""Colours that people with colour vision deficiencies can distinguish [1]_, for annotators, lines.

References
----------
.. [1] Okabe and Ito (2008), "Color Universal Design"; two colours were added.
"""
DASHES = (
    (), (6, 3), (2, 2), (8, 3, 2, 3), (1.4, 4), (7, 2, 2, 2, 2, 2), (11, 5), (5, 1.4),
)  # fmt: skip
"""Styles of lines. Charts of figures have them in this order."""
N_TOLD_APART = len(SERIES) * len(DASHES)
"""The number of combinations of colour and style that `series_style` returns."""


def series_style(place: int) -> tuple[int, int]:
    """Return the indices of colour and line style of a series; of the first eight, both differ.

    Examples
    --------
    >>> series_style(0), series_style(1), series_style(8)
    ((0, 0), (1, 1), (0, 1))
    >>> len({series_style(place) for place in range(N_TOLD_APART)})
    64
    """
    n_colors = len(SERIES)
    return place % n_colors, (place + place // n_colors) % len(DASHES)


TEXT, DIM, LINE, BACK = "#1c2024", "#5b6470", "#dfe3e8", "#ffffff"

CLASSES = {
    TEXT: "text", DIM: "dim", LINE: "line", BACK: "back",
    **{color: f"series-{place}" for place, color in enumerate(SERIES)},
}  # fmt: skip
"""Class names of the colours that a page redefines for dark screens."""
