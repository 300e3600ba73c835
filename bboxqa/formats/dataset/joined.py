"""The tables of a data set to which several files are joined."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import IntArray
from bboxqa.core.text import clean
from bboxqa.formats.dataset.category_names import joining_map, renamed_categories
from bboxqa.formats.dataset.wrong_values import bad_sizes, names_alike
from bboxqa.formats.records import AnnotationFile, Image
from bboxqa.model.file_places import id_as_name


@dataclass(slots=True)
class Joined:
    """The tables of the data set to which files are added, and the problems found."""

    paths: dict[AnnotationFile, Path]
    images: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    origins: list[Path | None] = field(default_factory=list)

    def add(self, file: AnnotationFile, problems: Iterable[str]) -> None:
        """Add problems in the content of one file."""
        self._add(file, problems, self.paths[file])

    def add_shared(self, file: AnnotationFile, problems: Iterable[str]) -> None:
        """Add problems of a file that show only together with other files."""
        self._add(file, problems, None)

    def image_size(self) -> IntArray:
        """Return width and height of each image, (I, 2) int32; 0 where unknown."""
        sizes = [self.sizes.get(name, (0, 0)) for name in self.images]
        return np.array(sizes, np.int32).reshape(-1, 2)

    def _add(self, file: AnnotationFile, problems: Iterable[str], origin: Path | None) -> None:
        before = len(self.problems)
        self.problems += [f"{file.source.name}: {problem}" for problem in problems]
        self.origins += [origin] * (len(self.problems) - before)


def image_label(image: Image) -> str:
    """Return the name of an image: its file name, or its id if it has no file name."""
    return clean(image.file_name or id_as_name(image.id))


def add_tables(
    joined: Joined, files: Sequence[AnnotationFile], labels: Sequence[Sequence[str]]
) -> dict[str, str]:
    """Add and sort the images and categories of all files; return suggested renamings."""
    for file, image_labels in zip(files, labels, strict=True):
        _add(joined, file, image_labels, several=len(files) > 1)
    renamed: list[tuple[str, str]] = []
    for file, other_names, problems in renamed_categories(files):
        joined.add_shared(file, problems)
        renamed += other_names.items()
    joined.add_shared(files[0], names_alike(files))
    joined.images = {name: place for place, name in enumerate(sorted(joined.images))}
    joined.categories = {name: place for place, name in enumerate(sorted(joined.categories))}
    return joining_map(renamed, files)


def _add(joined: Joined, file: AnnotationFile, labels: Sequence[str], *, several: bool) -> None:
    """Add the images and categories of one file."""
    joined.add(file, bad_sizes(file.images))
    for image, label in zip(file.images, labels, strict=True):
        if not image.file_name and several:
            problem = f"image {image.id!r} has no file_name; expected one, since images of "
            joined.add(file, [problem + "several files are joined by it"])
        joined.images[label] = 0
        width, height = int(image.width or 0), int(image.height or 0)
        if not width or not height:
            continue
        before = joined.sizes.setdefault(label, (width, height))
        if before != (width, height):
            problem = f"image {label!r} is {width} × {height}"
            other = f"another record of it says {before[0]} × {before[1]}"
            joined.add_shared(file, [f"{problem}; {other}"])
    for category in file.categories:
        joined.categories.setdefault(clean(category.name), 0)
