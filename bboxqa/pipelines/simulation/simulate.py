"""Annotations by simulated annotators whose errors are known."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import BoolArray, frozen_arrays
from bboxqa.core.errors import ConfigError, OutputError
from bboxqa.core.files import filled_folder
from bboxqa.core.types import AnyPath, Files
from bboxqa.core.version import __version__
from bboxqa.model.settings_files import read_toml
from bboxqa.pipelines.read import read
from bboxqa.pipelines.simulation.drawing import Boxes, all_boxes, document_text, true_boxes
from bboxqa.pipelines.simulation.errors import Settings, errors_by_annotator
from bboxqa.pipelines.simulation.scene import Scene, drawn_scene, scene_of

_NAMES = (
    "cow", "sheep", "horse", "dog", "cat", "bird", "bear", "zebra", "giraffe", "elephant",
)  # fmt: skip
_MOST = 10_000


def truth_path(path: Path) -> Path:
    """Return the path of the truth of simulated annotations."""
    return path.parent / f"{path.stem}_truth{path.suffix}"


@frozen_arrays
class Simulation:
    """The annotations of simulated annotators, and the truth."""

    scene: Scene
    """The true objects."""
    boxes: Boxes
    """The annotations."""
    annotators: tuple[str, ...]
    """Names of the annotators."""
    asked: BoolArray
    """(I, A) bool. Who annotated which image."""
    info: dict[str, Any]
    """The seed, and the errors of each annotator as they were given."""

    def __len__(self) -> int:
        return len(self.boxes)

    def __repr__(self) -> str:
        return f"<Simulation: {len(self.annotators)} annotators, {len(self):,} annotations>"

    def document(self) -> dict[str, Any]:
        """Return the annotations as a COCO document."""
        return msgspec.json.decode(self._text(), type=dict[str, Any])

    def truth(self) -> dict[str, Any]:
        """Return the true objects as a COCO document."""
        return msgspec.json.decode(self._true_text(), type=dict[str, Any])

    def write(self, path: AnyPath, *, force: bool = False) -> tuple[Path, Path]:
        """Write ``NAME.json`` and ``NAME_truth.json``, and return their paths.

        Both appear when they are complete. Raises OutputError if one exists, unless `force`.
        """
        path = Path(path)
        if path.is_dir():
            raise OutputError(f"{path}: is a folder; name a file")
        target = truth_path(path)
        for each in (path, target):
            if each.exists() and not force:
                raise OutputError(f"{each}: already exists; name another file, or give --force")
        try:
            with filled_folder(path.parent) as folder:
                (folder / path.name).write_bytes(self._text())
                (folder / target.name).write_bytes(self._true_text())
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
        return path, target

    def _text(self) -> bytes:
        info = {"description": "simulated annotators", "version": __version__}
        ids = np.arange(1, len(self) + 1)
        return document_text(self.scene, ids, self.boxes, self.asked, self.annotators, info)

    def _true_text(self) -> bytes:
        scene, asked = self.scene, np.ones((len(self.scene.image_names), 1), np.bool_)
        info = {"description": "truth of simulated annotators", "version": __version__, **self.info}
        return document_text(scene, scene.id, true_boxes(scene), asked, ("truth",), info)


def simulate(
    truth: Files | Mapping[str, Any] | None = None,
    *,
    images: int = 100,
    objects: float = 5.0,
    categories: int | str | Sequence[str] = 5,
    annotators: int | str | Sequence[str] = 3,
    errors: Settings = (),
    profiles: AnyPath | None = None,
    per_image: int | None = None,
    overlap: float = 0.0,
    seed: int = 0,
) -> Simulation:
    """Simulate annotators with known errors.

    An error that is set for one annotator changes no other error and no other annotator.

    Parameters
    ----------
    truth : path, sequence of paths or COCO document, optional
        True objects, by one annotator; by default random boxes are drawn.
    images : int
        Number of images, where no truth is given.
    objects : float
        Objects per image: the mean of a Poisson distribution.
    categories : int, str or sequence of str
        A number, or names such as ``"cow,sheep"``; ``"cow:99,sheep:1"`` makes one of them rare.
    annotators : int, str or sequence of str
        Names, or a number; names are then p01, p02 and so on.
    errors : mapping of str to str or mapping, or sequence of str
        Errors by annotator: ``{"p03": "miss=0.1 offset=5,0"}``, ``{"p03": {"miss": 0.1}}`` or
        ``["p03: miss=0.1 offset=5,0"]``. The names may be patterns, such as ``p*``; later
        settings replace earlier ones. By default there are no errors.
    profiles : path, optional
        A TOML file with a table of errors for each annotator; `errors` replace them.
    per_image : int, optional
        How many annotators, drawn at random, annotate each image; by default all.
    overlap : float
        Highest IoU of two objects in one image.
    seed : int
        The same seed gives the same annotations.

    Returns
    -------
    Simulation
        `Simulation.document` is the COCO document, `Simulation.write` writes it beside its truth.

    Raises
    ------
    ConfigError
        If an error or a number is not understood.
    DatasetError
        If the truth cannot be read, or is by several annotators.

    Examples
    --------
    >>> import bboxqa
    >>> found = bboxqa.simulate(images=50, objects=4, errors={"p03": "miss=0.5"})
    >>> document, truth = found.document(), found.truth()
    >>> share = [
    ...     sum(each["annotator"] == name for each in document["annotations"])
    ...     / len(truth["annotations"])
    ...     for name in found.annotators
    ... ]
    >>> share[0], share[1], 0.4 < share[2] < 0.6
    (1.0, 1.0, True)
    """
    _check(images, objects, overlap, seed)
    rng = np.random.default_rng([seed])
    if truth is None:
        scene = drawn_scene(images, objects, _shares(categories), overlap, rng)
    else:
        scene = scene_of(read(truth, min_annotators=1))
    names = _annotator_names(annotators)
    if per_image is not None and not 1 <= per_image <= len(names):
        raise ConfigError(f"is {per_image}; expected 1 to {len(names)}", "per_image")
    tables = {} if profiles is None else read_toml(Path(profiles))
    by_name = errors_by_annotator((tables, errors), names, scene.category_names)
    asked = _assigned(len(scene.image_names), len(names), per_image, rng)
    boxes = all_boxes(scene, by_name, asked, seed)
    info = {"seed": seed, "profiles": tables, "errors": errors}
    return Simulation(scene, boxes, names, asked, info)


def _check(images: int, objects: float, overlap: float, seed: int) -> None:
    if images < 1:
        raise ConfigError(f"is {images}; expected 1 or more", "images")
    if not 0 <= objects <= _MOST:
        raise ConfigError(f"is {objects:g}; expected 0 to {_MOST:,}", "objects")
    if not 0 <= overlap <= 1:
        raise ConfigError(f"is {overlap:g}; expected 0 to 1", "overlap")
    if seed < 0:
        raise ConfigError(f"is {seed}; expected 0 or more", "seed")


def _shares(categories: int | str | Sequence[str]) -> dict[str, float]:
    """Return the categories, and how frequent each is."""
    if isinstance(categories, int) or (isinstance(categories, str) and categories.isdecimal()):
        number = _count(int(categories), "categories")
        more = [f"category_{place:04}" for place in range(len(_NAMES) + 1, number + 1)]
        return dict.fromkeys([*_NAMES[:number], *more], 1.0)
    listed = categories.split(",") if isinstance(categories, str) else categories
    shares: dict[str, float] = {}
    for text in listed:
        name, colon, share = text.strip().partition(":")
        try:
            shares[name] = float(share) if colon else 1.0
        except ValueError:
            shares[name] = 0.0
        if not name or not 0 < shares[name] < np.inf:
            raise ConfigError(f"category {text!r}: expected a name, or a name and a share: cow:99")
    return shares


def _annotator_names(annotators: int | str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(annotators, int) or (isinstance(annotators, str) and annotators.isdecimal()):
        number = _count(int(annotators), "annotators")
        return tuple(f"p{place:0{max(2, len(str(number)))}}" for place in range(1, number + 1))
    listed = annotators.split(",") if isinstance(annotators, str) else annotators
    names = tuple(name.strip() for name in listed)
    if not all(names) or len(set(names)) < len(names):
        raise ConfigError(f"is {','.join(names)!r}; expected names that differ", "annotators")
    return names


def _count(number: int, noun: str) -> int:
    if not 1 <= number <= _MOST:
        raise ConfigError(f"is {number}; expected 1 to {_MOST:,}", noun)
    return number


def _assigned(
    n_images: int, n_annotators: int, per_image: int | None, rng: np.random.Generator
) -> BoolArray:
    """Return who annotates which image, (I, A) bool."""
    rank = rng.random((n_images, n_annotators)).argsort(axis=1).argsort(axis=1)
    return rank < (per_image or n_annotators)
