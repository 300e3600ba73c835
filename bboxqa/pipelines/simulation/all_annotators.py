"""The boxes that all simulated annotators draw of a scene, with copies and times."""

from collections.abc import Mapping, Sequence

import numpy as np

from bboxqa.core.arrays import BoolArray, IndexArray
from bboxqa.pipelines.simulation.annotator import Drawing, drawing, joined, stream
from bboxqa.pipelines.simulation.documents import Boxes
from bboxqa.pipelines.simulation.errors import AnnotatorErrors
from bboxqa.pipelines.simulation.scene import Scene

_FIRST_DAY = np.datetime64("2026-01-05T08:00:00", "s").astype(np.int64)
_SECONDS, _SESSION, _PAUSE = 8.0, 7200, 3600


def all_boxes(
    scene: Scene, profiles: Mapping[str, AnnotatorErrors], asked: BoolArray, seed: int
) -> Boxes:
    """Return the boxes of all annotators, ordered by image, then annotator."""
    names = list(profiles)
    own = [drawing(scene, errors, seed, place) for place, errors in enumerate(profiles.values())]
    drawn = [_with_copies(own, profiles, names, asked, place, seed) for place in range(len(names))]
    seconds = [_worked(each, seed, place) for place, each in enumerate(drawn)]
    author = np.repeat(np.arange(len(names), dtype=np.int32), [len(d.image) for d in drawn])
    image = np.concatenate([each.image for each in drawn])
    order = np.argsort(image, kind="stable")
    rest = {
        name: np.concatenate([getattr(each, name) for each in drawn])[order]
        for name in ("category", "edges", "angle", "joints", "shape", "truth", "merged")
    }
    return Boxes(
        id=np.arange(1, len(order) + 1),
        image=image[order],
        annotator=author[order],
        seconds=np.concatenate(seconds)[order],
        **rest,
    )


def _with_copies(
    own: Sequence[Drawing],
    profiles: Mapping[str, AnnotatorErrors],
    names: Sequence[str],
    asked: BoolArray,
    place: int,
    seed: int,
) -> Drawing:
    """Return the boxes that an annotator drew, or copied from another, in assigned images."""
    copied = profiles[names[place]].copy
    if copied is None:
        return _within(own[place], asked[:, place])
    source = names.index(copied[0])
    both = asked[:, place] & asked[:, source]
    copies = both & (stream(seed, place, "copy").random(len(asked)) < copied[1])
    return joined([_within(own[place], asked[:, place] & ~copies), _within(own[source], copies)])


def _within(drawn: Drawing, images: BoolArray) -> Drawing:
    return drawn.take(np.flatnonzero(images[drawn.image]))


def _worked(drawn: Drawing, seed: int, place: int) -> IndexArray:
    """Return the time of each box: 8 s per box on average, with an hour's rest every two hours."""
    each = stream(seed, place, "time").exponential(_SECONDS - 1, len(drawn.image)) + 1
    worked = np.cumsum(each).astype(np.int64)
    return _FIRST_DAY + worked + worked // _SESSION * _PAUSE
