"""Why a chart has nothing to draw where annotators share boxes."""

from collections.abc import Mapping, Sequence
from typing import Any

from bboxqa.report.charts.labels import short_name


def reason_left_out(
    copies: Sequence[Mapping[str, Any]], otherwise: str, annotator: str | None = None
) -> str:
    """Return why a chart is empty: shared boxes are left out, or else another reason.

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
