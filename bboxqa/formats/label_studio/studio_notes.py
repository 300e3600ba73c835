"""Notes on annotations read from Label Studio."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count, one_line
from bboxqa.formats.translation.given_sizes import given_words
from bboxqa.formats.translation.translated import SESSIONS, UNNAMED, tally_notes

GROUND_TRUTH = "ground truth"
"""The name of the annotator of annotations that are marked as ground truth."""

# The counted facts, with the noun and the text of their notes.
_WORDS = (
    ("cancelled", "annotation", "left out: cancelled by the annotator"),
    ("draft", "draft", "left out: not submitted"),
    ("reviewed", "prediction", "left out: annotations as they were before the review"),
    ("bare", "prediction", "left out: a number instead of regions"),
    ("several", "region", "with several labels: one annotation for each label"),
    ("empty", "mask", "left out: no pixels"),
    ("turned", "region", "drawn on an image that was rotated on the screen"),
)


TRACK = "videorectangle"
"""The type of results that track an object in a video."""
_APART = {
    "choices": "image label", "relation": "relation", "keypoint": "key point", TRACK: "video track",
}  # fmt: skip


def apart_name(kind: str) -> str:
    """Return the name of a type of result that is not a region.

    Examples
    --------
    >>> apart_name("choices"), apart_name("taxonomy")
    ('image label', 'taxonomy result')
    """
    return _APART.get(kind, f"{one_line(kind) or 'other'} result")


def notes_of(tally: Mapping[str, int], models: Counter[str]) -> Iterator[str]:
    """Yield a note for each count above 0.

    Parameters
    ----------
    tally : mapping of str to int
        Counts by the keys of `_WORDS`, "truth", or "given".
    models : Counter of str
        Numbers of predictions by model name.

    Examples
    --------
    >>> list(notes_of({"draft": 2, "empty": 0}, Counter()))
    ['2 drafts left out: not submitted']
    """
    for model, number in (+models).items():
        yield (
            f"{one_line(model)} is a model and counts as an annotator: "
            f"{count(number, 'prediction')} in the file"
        )
    if n_true := tally.get("truth", 0):
        yield (
            f"{count(n_true, 'annotation')} marked as ground truth, here by an annotator "
            f"{GROUND_TRUTH!r}; to measure the others against it: --reference {GROUND_TRUTH!r}"
        )
    if number := tally.get("given", 0):
        yield f"{count(number, 'image')} without original_width: {given_words()}"
    yield from tally_notes(tally, _WORDS)


def tag_note(n_images: int, keys: Sequence[str], open_keys: Sequence[str]) -> str:
    """Return a note on images whose tasks have images under several data keys.

    The user can name one of the `open_keys`, which no tag is known to show.

    Examples
    --------
    >>> tag_note(2, ["clean", "marked"], ["marked"])[-33:]
    '--columns image=marked names them'
    """
    note = (
        f"{count(n_images, 'image')} named by task and tag, as the file does not say which of "
        f"several images of a task a tag shows ({', '.join(map(one_line, keys))})"
    )
    if not open_keys:
        todo = "set to_name of each region to the key of data with its image"
        return f"{note}; if several tags show one image, {todo}"
    return f"{note}: --columns image={one_line(open_keys[0])} names them"


def unknown_key_note(said: str, keys: Sequence[str]) -> str:
    """Return a note on a key that the user names, under which no task has an image.

    Examples
    --------
    >>> unknown_key_note("foo", ["photo", "small"])
    "--columns image=foo names no image: tasks have images under 'photo', 'small'"
    """
    known = ", ".join(repr(one_line(each)) for each in keys)
    return f"--columns image={one_line(said)} names no image: tasks have images under {known}"


CONTENT_ADVICE = "Give images a URL in place of their content, by which they can be told apart."
"""How to name images whose URLs are their content."""


def naming_advice(keys: Sequence[str], open_keys: Sequence[str]) -> str:
    """Return how to name images of tasks with images under several data keys; see `tag_note`.

    Examples
    --------
    >>> naming_advice(["my image", "small"], ["my image"])
    "Say under which key of their data the image is: --columns 'image=my image'"
    """
    if not open_keys:
        named = " or ".join(map(one_line, keys))
        return f"Set to_name of each region to the key of data with its image: {named}"
    typed = shlex.quote(f"image={clean(open_keys[0])}")
    said = f"Say under which key of their data the image is: --columns {typed}"
    others = " or ".join(map(one_line, open_keys[1:]))
    return f"{said}, or {others} in place of {one_line(open_keys[0])}" if others else said


def unnamed_note(n_images: int, keys: Sequence[str]) -> str:
    """Return a note on images that no value of data names, whose tasks `keys` tell apart.

    Examples
    --------
    >>> unnamed_note(1, [])
    '1 image named by the number of its task: no value of data names an image'
    >>> unnamed_note(2, ["dicom"])[-42:]
    'an image; --columns image=dicom names them'
    """
    by = "the number of its task" if n_images == 1 else "the numbers of their tasks"
    note = f"{count(n_images, 'image')} named by {by}: no value of data names an image"
    them = "it" if n_images == 1 else "them"
    return f"{note}; --columns image={one_line(keys[0])} names {them}" if keys else note


def unnamed_advice(keys: Sequence[str]) -> str:
    """Return how to name images that no value of data names; see `unnamed_note`.

    Examples
    --------
    >>> unnamed_advice([]), unnamed_advice(["dicom"])[-21:]
    ('Name the image of each task in its data, under the key image.', '--columns image=dicom')
    """
    if keys:
        return naming_advice(keys, keys)
    return "Name the image of each task in its data, under the key image."


def unshown_note(key: str, n_images: int) -> str:
    """Return a note on images that nobody drew on, under a key of the data of tasks.

    Examples
    --------
    >>> unshown_note("logo", 2)
    "2 images under 'logo' in the data of tasks left out: no region is on any of them"
    """
    where = f"under {one_line(key)!r} in the data of tasks"
    return f"{count(n_images, 'image')} {where} left out: no region is on any of them"


def query_notes(n_images: int) -> Iterator[str]:
    """Yield a note if images are named with the queries of their URLs.

    Examples
    --------
    >>> [*query_notes(2)]
    ['2 images named with the query of their URL, as images with another query have the same path']
    """
    if n_images:
        named = f"{count(n_images, 'image')} named with the query of their URL"
        yield f"{named}, as images with another query have the same path"


def nobody_notes(tally: Mapping[str, int]) -> Iterator[str]:
    """Yield a note if annotations do not name their annotator.

    Examples
    --------
    >>> [*nobody_notes({"unnamed": 2})]
    ["2 annotations without completed_by, here by '(not named)', who may be several people"]
    """
    number = tally.get("unnamed", 0)
    if tally.get("numbered", 0):
        yield (
            f"{count(number, 'annotation')} without completed_by: annotators are numbered task by "
            "task, so results per annotator mix people"
        )
    elif number:
        what = f"{count(number, 'annotation')} without completed_by, here by '{UNNAMED}'"
        yield f"{what}, who may be several people" if number > 1 else what


def repeat_notes(tally: Mapping[str, int]) -> Iterator[str]:
    """Yield a note if someone annotated tasks again.

    Examples
    --------
    >>> [note[:48] for note in repeat_notes({"again": 1})]
    ['1 annotation left out: by someone who had annota']
    """
    if number := tally.get("again", 0):
        words = f"left out: by someone who had annotated the task before; {SESSIONS}"
        yield f"{count(number, 'annotation')} {words}"


def no_images(name: str, n_tasks: int, n_tracks: int) -> DatasetError:
    """Return the error for a file of tasks without images, some of which may be videos."""
    problem = f"{name}: has {count(n_tasks, 'task')} of Label Studio, none with an image"
    if n_tracks:
        tracks = count(n_tracks, "tracked object")
        return DatasetError(
            [f"{problem}, but {tracks} in videos, which are not read"],
            "Annotate frames as images, or track in CVAT: its XML of videos is read.",
        )
    return DatasetError(
        [problem],
        "Shapes in images are compared. For labels of texts, export a table: bboxqa stats",
    )
