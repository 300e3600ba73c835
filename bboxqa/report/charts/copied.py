"""Notes of pages and tables on shared boxes, which are left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from bboxqa.report.charts.labels import short_name

# The most annotators with left-out images that are named.
_MOST_NAMED = 4


def reason_left_out(
    copies: Sequence[Mapping[str, Any]], otherwise: str, annotator: str | None = None
) -> str:
    """Return why a chart is empty: because shared boxes are left out, or `otherwise`.

    Parameters
    ----------
    copies : sequence of mapping
        The rows of the table "copies".
    otherwise : str
    annotator : str, optional
        Only boxes of this one count.

    Examples
    --------
    >>> copies = [{"annotator_1": "ann", "annotator_2": "bob", "copied": True}]
    >>> reason_left_out(copies, "nobody drew anything")
    'left out, since ann and bob share boxes'
    >>> reason_left_out(copies, "nobody drew anything", "cat")
    'nobody drew anything'
    """
    for row in copies:
        pair = row["annotator_1"], row["annotator_2"]
        if row["copied"] and (annotator is None or annotator in pair):
            return f"left out, since {' and '.join(map(short_name, pair))} share boxes"
    return otherwise


def images_compared(row: Mapping[str, Any]) -> str:
    """Return the number of images of an annotator's figures; empty if all images count.

    Examples
    --------
    >>> images_compared({"n_images": 47, "n_images_asked": 143})
    '47 of 143'
    """
    # Results of earlier versions have the first count only.
    n_asked = row.get("n_images_asked", row["n_images"])
    return f"{row['n_images']:,} of {n_asked:,}" if row["n_images"] < n_asked else ""


def note_left_out(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a note on the rows of the table "annotators"; empty if nothing is left out.

    Examples
    --------
    >>> note_left_out([{"annotator": "ann", "n_images": 47, "n_images_asked": 143}])[28:]
    'boxes that annotators share: of ann, 47 of 143 images count; n and vitality are of all'
    """
    compared = [(row["annotator"], images_compared(row)) for row in rows]
    parts = [f"of {short_name(name)}, {images}" for name, images in compared if images]
    if not parts:
        return ""
    more = len(parts) - _MOST_NAMED
    if more > 0:
        parts[_MOST_NAMED:] = [f"{more} more in annotators.csv"]
    return (
        f"Rates and offsets leave out boxes that annotators share: {'; '.join(parts)} images "
        "count; n and vitality are of all"
    )
