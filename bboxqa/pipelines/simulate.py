"""Simulated annotators: a true scene, what annotators with known errors draw of it, and files."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bboxqa.core.arrays import AnyPath, BoolArray, Files, FrozenArrays, IndexArray, listed_by
from bboxqa.core.errors import ConfigError, OutputError, in_python_words
from bboxqa.core.files import filled_folder, writing
from bboxqa.core.json_values import json_bytes
from bboxqa.core.text import unknown_name
from bboxqa.core.version import __version__
from bboxqa.pipelines.read import read
from bboxqa.pipelines.simulated_boxes import (
    DECIMALS,
    AnnotatorErrors,
    Boxes,
    Length,
    Scene,
    all_boxes,
    boxes_of,
    drawn_scene,
    scene_of,
)

_NAMES = (
    "cow", "sheep", "horse", "dog", "cat", "bird", "bear", "zebra", "giraffe", "elephant",
)  # fmt: skip
_MOST = 10_000
Settings = Mapping[str, "str | Mapping[str, Any]"] | Sequence[str]
"""Errors by name or pattern of annotators, or texts such as ``"p03: miss=0.1 offset=5,0"``."""


class Simulation(FrozenArrays, frozen=True, eq=False):
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
        asked = [[self.annotators[each] for each in np.flatnonzero(who)] for who in self.asked]
        info = {"description": "simulated annotators", "version": __version__}
        ids = np.arange(1, len(self) + 1)
        return _document(self.scene, ids, self.boxes, self.annotators, asked, info)

    def truth(self) -> dict[str, Any]:
        """Return the true objects as a COCO document."""
        scene = self.scene
        boxes = boxes_of(scene, np.arange(len(scene)), scene.category, scene.edges)
        boxes["truth"] = -1
        # As they are read from the file.
        given = msgspec.json.decode(msgspec.json.encode(self.info))
        info = {"description": "truth of simulated annotators", "version": __version__, **given}
        asked = [["truth"]] * len(scene.image_names)
        return _document(scene, scene.id, boxes, ["truth"], asked, info)

    @in_python_words
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
        with writing(path), filled_folder(path.parent) as folder:
            (folder / path.name).write_bytes(json_bytes(self.document()))
            (folder / target.name).write_bytes(json_bytes(self.truth()))
        return path, target


def truth_path(path: Path) -> Path:
    """Return the path of the truth of simulated annotations."""
    return path.parent / f"{path.stem}_truth{path.suffix}"


def simulate(
    truth: Files | Mapping[str, Any] | None = None,
    *,
    images: int = 100,
    objects: float = 5.0,
    categories: int | str | Sequence[str] = 5,
    annotators: int | str | Sequence[str] = 3,
    errors: Settings = (),
    per_image: int | None = None,
    overlap: float = 0.0,
    seed: int = 0,
) -> Simulation:
    """Simulate annotators with known errors.

    An error that is set for one annotator changes no other error and no other annotator.

    Parameters
    ----------
    truth : path, sequence of paths or COCO document, optional
        True objects, by one annotator, as boxes; by default random boxes are drawn.
    images, objects : int, float
        Images, and objects per image (the mean of a Poisson distribution), without `truth`.
    categories : int, str or sequence of str
        A number, or names such as ``"cow,sheep"``; ``"cow:99,sheep:1"`` makes one of them rare.
    annotators : int, str or sequence of str
        Names, or a number; names are then p01, p02 and so on.
    errors : mapping of str to str or mapping, or sequence of str
        Errors by annotator: ``{"p03": "miss=0.1 offset=5,0"}``, ``{"p03": {"miss": 0.1}}`` or
        ``["p03: miss=0.1 offset=5,0"]``. The names may be patterns, such as ``p*``; later
        settings replace earlier ones. By default there are no errors.
    per_image : int, optional
        How many annotators, drawn at random, annotate each image; by default all.
    overlap : float
        Highest IoU of two objects in one image.
    seed : int

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
    >>> drawn = [each["annotator"] for each in found.document()["annotations"]]
    >>> n = len(found.truth()["annotations"])
    >>> drawn.count("p01") == n, 0.4 * n < drawn.count("p03") < 0.6 * n
    (True, True)
    """
    for name, number, *bounds in (
        ("images", images, 1), ("objects", objects, 0, _MOST), ("overlap", overlap, 0, 1),
        ("seed", seed, 0),
    ):  # fmt: skip
        _check(name, number, *bounds)
    rng = np.random.default_rng([seed])
    if truth is None:
        scene = drawn_scene(images, objects, _shares(categories), overlap, rng)
    else:
        scene = scene_of(read(truth, min_annotators=1))
    names = _names_of(annotators)
    if per_image is not None:
        _check("per_image", per_image, 1, len(names))
    by_name = _errors_by_annotator(errors, names, scene.category_names)
    rank = rng.random((len(scene.image_names), len(names))).argsort(axis=1).argsort(axis=1)
    asked = np.asarray(rank < (per_image or len(names)))
    boxes = all_boxes(scene, by_name, asked, seed)
    return Simulation(scene, boxes, names, asked, {"seed": seed, "errors": errors})


def _names_of(annotators: int | str | Sequence[str]) -> tuple[str, ...]:
    number, listed = _numbered(annotators, "annotators")
    digits = max(2, len(str(number)))
    names = (*listed, *(f"p{place:0{digits}}" for place in range(1, number + 1)))
    if not all(names) or len(set(names)) < len(names):
        raise ConfigError(f"is {','.join(names)!r}; expected names that differ", "annotators")
    return names


def _check(setting: str, number: float, lowest: int, highest: float = np.inf) -> None:
    if not lowest <= number <= highest:
        most = "or more" if highest == np.inf else f"to {highest:,}"
        raise ConfigError(f"is {number:.15g}; expected {lowest} {most}", setting)


def _numbered(given: int | str | Sequence[str], setting: str) -> tuple[int, list[str]]:
    """Return how many are given, or 0 and their names."""
    if isinstance(given, int) or (isinstance(given, str) and given.isdecimal()):
        _check(setting, int(given), 1, _MOST)
        return int(given), []
    listed = given.split(",") if isinstance(given, str) else given
    return 0, [each.strip() for each in listed]


def _shares(categories: int | str | Sequence[str]) -> dict[str, float]:
    number, listed = _numbered(categories, "categories")
    more = [f"category_{place:04}" for place in range(len(_NAMES) + 1, number + 1)]
    shares = dict.fromkeys([*_NAMES[:number], *more], 1.0)
    for text in listed:
        name, colon, share = text.partition(":")
        try:
            shares[name] = _number(share, 1e-9, 1e9) if colon else 1.0
        except ValueError:
            name = ""
        if not name:
            raise ConfigError(f"category {text!r}: expected a name, or a name and a share: cow:99")
    return shares


def _number(text: str, lowest: float = 0.0, highest: float = 1.0) -> float:
    value = float(text)
    if not lowest <= value <= highest:
        raise ValueError(text)
    return value


def _length(text: str, lowest: float = -1e6) -> Length:
    value = _number(text.strip().removesuffix("%"), lowest, 1e6)
    return (0.0, value / 100) if text.strip().endswith("%") else (value, 0.0)


def _offset(text: str) -> tuple[Length, Length]:
    right, down = text.split(",")
    return _length(right), _length(down)


def _copy(text: str) -> tuple[str, float]:
    name, _, share = text.rpartition(":")
    return name, _number(share)


# How the value of each error is read, which raises ValueError, and how it is written.
_RATE = (_number, "a rate from 0 to 1, such as 0.1")
_FORMS: dict[str, tuple[Callable[[str], Any], str]] = {
    "miss": _RATE, "extra": _RATE,
    "confuse": (_number, f"{_RATE[1]}, or two categories and a rate: cow/sheep:0.2"),
    "jitter": (partial(_length, lowest=0.0), "pixels or percent of a side, such as 2 or 3%"),
    "scale": (partial(_number, lowest=0.1, highest=10.0), "a factor from 0.1 to 10, such as 1.1"),
    "offset": (_offset, "pixels or percent of a side, to the right and down: 5,0 or 10%,-5%"),
    "split": _RATE, "merge": _RATE, "duplicate": _RATE,
    "copy": (_copy, "another annotator and a share of the images, such as p01:0.3"),
}  # fmt: skip


def _errors_by_annotator(
    settings: Settings, annotators: Sequence[str], categories: Sequence[str]
) -> dict[str, AnnotatorErrors]:
    """Return the errors of each annotator; a later setting replaces an earlier one."""
    merged: dict[str, dict[str, list[str]]] = {name: {} for name in annotators}
    pairs: Iterable[Any] = (each.split(":", 1) for each in settings)
    for name, *table in settings.items() if isinstance(settings, Mapping) else pairs:
        matching = [other for other in annotators if fnmatchcase(other, name.strip())]
        if not matching or not table:
            form = "a name, or a pattern of names, and errors, such as 'p01: miss=0.1'"
            raise ConfigError(f"no annotator is {name!r}; expected {form}")
        texts = _texts(name, table[0])
        for other in matching:
            merged[other] |= texts
    return {name: _errors(name, texts, annotators, categories) for name, texts in merged.items()}


def _texts(who: str, table: str | Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the texts of each error; `confuse` may have several."""
    if isinstance(table, Mapping):
        lists = {key: value if isinstance(value, list | tuple) else [value]
                 for key, value in table.items()}  # fmt: skip
        table = shlex.join(f"{key}={','.join(map(str, each))}" for key, each in lists.items())
    try:
        words = shlex.split(str(table))
    except ValueError as error:
        raise ConfigError(f"{who}: {table.strip()!r} cannot be read: {error}") from None
    return listed_by((key, value) for key, _, value in (word.partition("=") for word in words))


def _errors(
    who: str, texts: Mapping[str, list[str]], annotators: Sequence[str], categories: Sequence[str]
) -> AnnotatorErrors:
    values: dict[str, Any] = {}
    swaps = list[tuple[str, str, float]]()
    for key, text in ((key, text) for key, listed in texts.items() for text in listed):
        if key not in _FORMS:
            raise ConfigError(f"{who}: error {unknown_name(key, [*_FORMS])}")
        parsed, expected = _FORMS[key]
        try:
            if key == "confuse" and "/" in text:
                swaps.append(_swap(text, categories))
            elif key in values:
                raise ConfigError(f"{who}: {key} is given twice")
            else:
                values[key] = parsed(text)
        except ValueError:
            raise ConfigError(f"{who}: {key} is {text!r}; expected {expected}") from None
    others = [other for other in annotators if other != who]
    if "copy" in values and values["copy"][0] not in others:
        raise ConfigError(f"{who}: copy {unknown_name(values['copy'][0], others)}")
    if "confuse" in values and len(categories) < 2:
        raise ConfigError(f"{who}: confuse needs two categories; there is one")
    return AnnotatorErrors(swaps=tuple(swaps), **values)


def _swap(text: str, categories: Sequence[str]) -> tuple[str, str, float]:
    names, _, rate = text.rpartition(":")
    first, second = names.split("/")
    if first == second or not {first, second} <= {*categories}:
        raise ValueError(text)
    return first, second, _number(rate)


def _document(
    scene: Scene,
    ids: IndexArray,
    boxes: Boxes,
    annotators: Sequence[str],
    asked: Sequence[Sequence[str]],
    info: Mapping[str, Any],
) -> dict[str, Any]:
    edges = boxes["edges"]
    sides = (edges[:, 2:] - edges[:, :2]).round(DECIMALS)
    bbox = np.concatenate([edges[:, :2].round(DECIMALS), sides], axis=1).tolist()
    times = np.datetime_as_string(boxes["seconds"].astype("datetime64[s]")).tolist()
    annotations = []
    for place, (number, box) in enumerate(zip(ids.tolist(), boxes, strict=True)):
        record = {
            "id": number,
            "image_id": int(box["image"]) + 1,
            "category_id": int(box["category"]) + 1,
            "bbox": bbox[place],
            "area": float(np.round(sides[place].prod(), DECIMALS)),
            "annotator": annotators[box["annotator"]],
            "iscrowd": 0,
        }
        for key, name in (("true_id", "truth"), ("merged_id", "merged")):
            if box[name] >= 0:
                record[key] = int(scene.id[box[name]])
        if box["seconds"] >= 0:
            record["created_at"] = times[place].replace("T", " ")
        annotations.append(record)
    sizes = zip(scene.image_names, scene.image_size.tolist(), asked, strict=True)
    return {
        "info": info,
        "licenses": [],
        "images": [
            {"id": n, "file_name": name, "width": width, "height": height, "annotators": who}
            for n, (name, (width, height), who) in enumerate(sizes, 1)
        ],
        "categories": [{"id": n, "name": name} for n, name in enumerate(scene.category_names, 1)],
        "annotations": annotations,
    }
