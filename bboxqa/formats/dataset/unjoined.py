"""Advice where few images of several files are joined."""

from collections.abc import Sequence

from bboxqa.core.text import first_few, one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.commands import typed_names
from bboxqa.formats.dataset.image_names import (
    case_remark,
    join_advice,
    numbered_advice,
    own_names,
)
from bboxqa.formats.dataset.people.attributed import Attribution

# The most names that a text shows.
_SHOWN = 3


def unjoined_advice(files: Sequence[AnnotationFile], attribution: Attribution) -> str:
    """Return how more images would be joined; "" if they would by nothing that is known.

    Images of several splits are different, even if an option would give them the same names.
    """
    splits = [*attribution.splits]
    named = [*dict.fromkeys(filter(None, splits))]
    if not named:
        names = own_names(files)
        found = "; ".join(filter(None, (join_advice(names), case_remark(names))))
        return found or numbered_advice(files)
    of_splits = [*zip(files, attribution.asked, splits, strict=False)]
    whole = [file.source.name for file, _, split in of_splits if not split]
    if not whole:
        return ""
    of_split = [
        (asked[0][0], file.source.name)
        for file, asked, split in of_splits
        if split in ("", named[0]) and asked and asked[0]
    ]
    called = first_few(named, _SHOWN, lambda each: f"{one_line(each)}/…")
    others = f"{first_few(whole, _SHOWN, one_line)} {'is' if len(whole) == 1 else 'are'}"
    return (
        f"images of splits are called {called}, and {others} of no split. To measure one split: "
        f"{typed_names(of_split)}"
    )
