"""The tables of files that are joined, and their annotations in the order of the data set."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bboxqa.core.arrays import FloatArray, IndexArray, IntArray, RowArrays
from bboxqa.core.text import clean, in_natural_order
from bboxqa.formats.dataset.people import Attribution
from bboxqa.formats.records import AnnotationFile
from bboxqa.model.annotations import Annotations, times_of
from bboxqa.model.table import joined_ids


class Joined(msgspec.Struct):
    """The tables of the data set to which files are added, and the problems found."""

    files: Sequence[AnnotationFile]
    attribution: Attribution
    images: dict[str, int]
    annotators: dict[str, int]
    categories: dict[str, int]
    """The place of each image, annotator and category, by name."""
    sizes: IntArray
    """(I, 2) int32. 0 where unknown."""
    of_record: list[IntArray]
    """By file, the image of each record, as an index."""
    problems: list[str] = msgspec.field(default_factory=list)
    origins: list[Path | None] = msgspec.field(default_factory=list)
    advice: list[str] = msgspec.field(default_factory=list)

    @classmethod
    def of(cls, files: Sequence[AnnotationFile], attribution: Attribution) -> "Joined":
        """Return the tables of files, with sizes that are not known yet."""
        names = (
            sorted(set[str]().union(*(file.image_labels for file in files))),
            in_natural_order(attribution.names),
            sorted({clean(each.name) for file in files for each in file.categories}),
        )
        image, who, category = ({n: place for place, n in enumerate(each)} for each in names)
        records = ([image[label] for label in file.image_labels] for file in files)
        of_record = [np.array(each, np.int32) for each in records]
        sizes = np.zeros((len(image), 2), np.int32)
        return cls(files, attribution, image, who, category, sizes, of_record)

    def add(self, file: AnnotationFile, problems: Iterable[str], *, shared: bool = False) -> None:
        """Add problems of a file; those that show only with other files are `shared`."""
        found = [f"{file.source.name}: {problem}" for problem in problems]
        self.problems += found
        self.origins += [None if shared else file.path] * len(found)


class Rows(RowArrays, frozen=True, eq=False):
    """The valid annotations of all files, in their order, with indices in place of ids."""

    file: IntArray
    place: IndexArray
    """(N,). The file of each annotation, and its row there."""
    image: IntArray
    category: IntArray
    annotator: IntArray
    """(N,) int32. -1 where nobody is named."""
    session: IntArray | None = None
    seconds: FloatArray | None = None
    track: IntArray | None = None
    """(N,). None where they were not read; a track is -1 for none."""

    def by_file(self, n_files: int, name: str = "place") -> list[NDArray[Any]]:
        """Return the rows in each file, or other values of its annotations."""
        return np.split(getattr(self, name), np.searchsorted(self.file, np.arange(1, n_files)))


def merge(files: Sequence[AnnotationFile], rows: Rows) -> Annotations:
    """Return the annotations of all files, ordered by image, annotator, box, category and id."""
    parts = []
    names = ("place", "image", "annotator", "category")
    of_files = (rows.by_file(len(files), name) for name in names)
    for file, place, image, annotator, category in zip(files, *of_files, strict=True):
        of = file.columns if len(place) == len(file.columns) else file.columns.take(place)
        parts.append(
            Annotations(
                of.id, image, annotator, category, of.bbox, of.iscrowd, of.segmentation,
                keypoints=of.keypoints, rotated_box=of.rotated, score=of.score,
                place=None if of.score is None else place,
            )
        )  # fmt: skip
    joined = parts[0] if len(parts) == 1 else Annotations.join(parts)
    if any(file.shown_ids is not file.columns.id for file in files):
        pairs = zip(files, rows.by_file(len(files)), strict=True)
        joined = replace(joined, own_id=joined_ids([file.shown_ids[each] for file, each in pairs]))
    order = _order(joined)
    rows, joined = rows.take(order), joined.take(order)
    times = None if rows.seconds is None else times_of(rows.seconds, rows.annotator)
    return replace(joined, times=times, track=rows.track)


def _order(of: Annotations) -> IndexArray:
    """Return the order by image, annotator, box, category and id."""
    # Box and category precede the id, so that renumbering does not change the result.
    group = of.image * np.float64(int(of.annotator.max(initial=0)) + 1) + of.annotator
    x = of.bbox[:, 0]
    low, high = x.min(initial=0), x.max(initial=0)
    # One sort of these takes a fifth of the time of a sort by each. Few annotations of an annotator
    # have nearly equal x; only these are sorted by all keys.
    keys = group + (x - low) / (2 * (high - low) + 1)
    order = np.argsort(keys)
    same = np.diff(keys[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = np.sort(order[tied])
    x, y, width, height = of.bbox.take(rows, axis=0).T
    keys = (
        of.id[rows], of.category[rows], height, width, y, x, of.annotator[rows], of.image[rows]
    )  # fmt: skip
    order[tied] = rows[np.lexsort(keys)]
    return order
