"""Figures without warnings on missing characters, which become boxes."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.figure import Figure


class QuietFigure(Figure):
    """A figure whose texts may be in any script."""

    def draw(self, renderer: Any) -> None:
        """Draw the figure."""
        with _any_script():
            super().draw(renderer)

    def get_tightbbox(self, *args: Any, **keywords: Any) -> Any:
        """Return the box around all that is drawn."""
        with _any_script():
            return super().get_tightbbox(*args, **keywords)


@contextmanager
def _any_script() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from (current )?font")
        warnings.filterwarnings("ignore", "Matplotlib currently does not support")
        yield
