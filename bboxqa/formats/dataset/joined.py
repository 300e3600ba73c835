"""The state of joining several files."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import IntArray
from bboxqa.formats.annotations.columns import AnnotationFile


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
