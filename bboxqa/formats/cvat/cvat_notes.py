"""Notes on annotations read from CVAT."""

from collections.abc import Iterator, Mapping

from bboxqa.core.text import count
from bboxqa.formats.translation.translated import SESSIONS, tally_notes

ASSIGNEE = "the assignee"
"""How annotators are named where no owner counts."""
# The counted facts, with the noun and the text of their notes.
_WORDS = (
    ("empty", "mask", "left out: no pixels"),
    (
        "unknown frames",
        "video",
        "of which only frames with shapes are known: empty frames count as not asked about",
    ),
)


def notes_of(tally: Mapping[str, int]) -> Iterator[str]:
    """Yield a note for each count above 0.

    Examples
    --------
    >>> list(notes_of({"empty": 1, "owner": 1}))
    ['1 mask left out: no pixels']
    """
    yield from tally_notes(tally, _WORDS)
    if tally.get("unnamed videos") and not tally.get("unnamed frames"):
        yield (
            "the file does not name its video: frames are joined by number with those of other "
            "files, which must be of the same video"
        )
    if tally.get("unnamed frames"):
        yield (
            "images are named by their frame, such as frame_000007; the export "
            "'CVAT for images 1.1' has their names"
        )


def repeat_notes(tally: Mapping[str, int]) -> Iterator[str]:
    """Yield a note if the same person annotated images again.

    Examples
    --------
    >>> [note[:48] for note in repeat_notes({"again": 2})]
    ['2 images annotated again by the same person, lef']
    """
    if number := tally.get("again", 0):
        yield f"{count(number, 'image')} annotated again by the same person, left out; {SESSIONS}"


def named_by(tally: Mapping[str, int]) -> str:
    """Return how annotators are named, as the end of the phrase "annotators by …".

    Examples
    --------
    >>> named_by({"assignee": 2}), named_by({"owner": 1})
    ('the assignee', 'the owner, as no assignee is named')
    """
    if tally.get("owner"):
        no_other = "the owner, as no assignee is named"
        return f"{ASSIGNEE}, else the owner" if tally.get("assignee") else no_other
    return ASSIGNEE
