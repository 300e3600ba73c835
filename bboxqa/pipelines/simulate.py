"""Simulated annotators: a true scene, what annotators with known errors draw of it, and files."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bboxqa.core.arrays import (
    AnyPath,
    BoolArray,
    Files,
    FloatArray,
    FrozenArrays,
    IndexArray,
    IntArray,
    rows,
)
from bboxqa.core.errors import ConfigError, DatasetError, OutputError
from bboxqa.core.files import filled_folder
from bboxqa.core.json_values import json_bytes
from bboxqa.core.text import unknown_name
from bboxqa.core.version import __version__
from bboxqa.geometry.boxes import bbox_iou
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import read_toml
from bboxqa.pipelines.read import read

_NAMES = (
    "cow", "sheep", "horse", "dog", "cat", "bird", "bear", "zebra", "giraffe", "elephant",
)  # fmt: skip
_MOST = 10_000
_WIDTH, _HEIGHT = 640, 480
_SIDES = 12.0, 120.0
_ASPECT = 0.25
# Attempts to place a box, and the margin of an image as a share of its side.
_TRIES, _MARGIN = 100, 0.05
# Coordinates are rounded to hundredths of a pixel.
_DECIMALS = 2
_CUT = 0.35, 0.65
_NARROWEST = 1.0
_FIRST_DAY = np.datetime64("2026-01-05T08:00:00", "s").astype(np.int64)
# 8 s per box on average, with an hour's rest every two hours.
_SECONDS, _SESSION, _PAUSE = 8.0, 7200, 3600
# Purposes of random numbers; each has a stream of its own, so that an error of one kind changes no
# other.
_STREAMS = {
    "miss": 0, "confuse": 1, "swap": 2, "jitter": 3, "split": 4, "cut": 5, "merge": 6, "claim": 7,
    "duplicate": 8, "again": 9, "extra": 10, "copy": 11, "time": 12,
}  # fmt: skip

Boxes = NDArray[Any]
"""Annotations ordered by image, as a table with the fields of `_BOX`."""
# The object that was drawn, -1 for extras; the second one in the same box, or -1; and seconds since
# 1970, -1 for the truth.
_BOX = np.dtype([
    ("image", np.int32), ("annotator", np.int32), ("category", np.int32),
    ("edges", np.float64, 4), ("truth", np.int64), ("merged", np.int64), ("seconds", np.int64),
])  # fmt: skip
Length = tuple[float, float]
"""A length in pixels, and one as a share of the side along which it is measured; they add up."""


class Scene(FrozenArrays, frozen=True, eq=False):
    """I images and the N objects in them, ordered by image."""

    image_names: tuple[str, ...]
    image_size: IntArray
    """(I, 2) int32. Width and height."""
    category_names: tuple[str, ...]
    id: IndexArray
    image: IntArray
    category: IntArray
    """(N,) int32. Indices into the names."""
    edges: FloatArray
    """(N, 4). Left, top, right and bottom in pixels."""
    density: float
    """How many objects an image shows: as expected where that is known, or on average."""

    def __len__(self) -> int:
        return len(self.id)

    @property
    def sides(self) -> FloatArray:
        """Width and height of the objects, (N, 2)."""
        return self.edges[:, 2:] - self.edges[:, :2]


class _Errors(msgspec.Struct, frozen=True):
    """Rates and sizes of the errors of an annotator, see `_FORMS`; by default there are none."""

    miss: float = 0.0
    extra: float = 0.0
    confuse: float = 0.0
    swaps: tuple[tuple[str, str, float], ...] = ()
    jitter: Length = (0.0, 0.0)
    scale: float = 1.0
    offset: tuple[Length, Length] = ((0.0, 0.0), (0.0, 0.0))
    split: float = 0.0
    merge: float = 0.0
    duplicate: float = 0.0
    copy: tuple[str, float] | None = None


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
        boxes = _boxes_of(scene, np.arange(len(scene)), scene.category, scene.edges)
        boxes["truth"] = -1
        # As they are read from the file.
        given = msgspec.json.decode(msgspec.json.encode(self.info))
        info = {"description": "truth of simulated annotators", "version": __version__, **given}
        asked = [["truth"]] * len(scene.image_names)
        return _document(scene, scene.id, boxes, ["truth"], asked, info)

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
                (folder / path.name).write_bytes(json_bytes(self.document()))
                (folder / target.name).write_bytes(json_bytes(self.truth()))
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
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
    profiles : path, optional
        A TOML file with a table of errors for each annotator; `errors` replace them.
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
        scene = _drawn_scene(images, objects, _shares(categories), overlap, rng)
    else:
        scene = _scene_of(read(truth, min_annotators=1))
    names = _numbered(annotators, "annotators")
    if not all(names) or len(set(names)) < len(names):
        raise ConfigError(f"is {','.join(names)!r}; expected names that differ", "annotators")
    if per_image is not None:
        _check("per_image", per_image, 1, len(names))
    tables = {} if profiles is None else read_toml(Path(profiles))
    by_name = _errors_by_annotator((tables, errors), names, scene.category_names)
    rank = rng.random((len(scene.image_names), len(names))).argsort(axis=1).argsort(axis=1)
    asked = np.asarray(rank < (per_image or len(names)))
    boxes = _all_boxes(scene, by_name, asked, seed)
    info = {"seed": seed, "profiles": tables, "errors": errors}
    return Simulation(scene, boxes, names, asked, info)


def _check(setting: str, number: float, lowest: int, highest: float = np.inf) -> None:
    """Refuse a number that is out of range."""
    if not lowest <= number <= highest:
        most = "or more" if highest == np.inf else f"to {highest:,}"
        raise ConfigError(f"is {number:.15g}; expected {lowest} {most}", setting)


def _numbered(given: int | str | Sequence[str], setting: str) -> tuple[str, ...]:
    """Return names, which may be given by their number."""
    if not isinstance(given, int) and not (isinstance(given, str) and given.isdecimal()):
        return tuple(e.strip() for e in (given.split(",") if isinstance(given, str) else given))
    number = int(given)
    _check(setting, number, 1, _MOST)
    if setting == "annotators":
        digits = max(2, len(str(number)))
        return tuple(f"p{place:0{digits}}" for place in range(1, number + 1))
    more = (f"category_{place:04}" for place in range(len(_NAMES) + 1, number + 1))
    return (*_NAMES[:number], *more)


def _shares(categories: int | str | Sequence[str]) -> dict[str, float]:
    """Return the categories, and how frequent each is."""
    shares: dict[str, float] = {}
    for text in _numbered(categories, "categories"):
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
    settings: Iterable[Settings], annotators: Sequence[str], categories: Sequence[str]
) -> dict[str, _Errors]:
    """Return the errors of each annotator; a later setting replaces an earlier one."""
    merged: dict[str, dict[str, list[str]]] = {name: {} for name in annotators}
    for each in settings:
        pairs = each.items() if isinstance(each, Mapping) else (e.split(":", 1) for e in each)
        for name, *table in pairs:
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
    texts: dict[str, list[str]] = {}
    if isinstance(table, str):
        try:
            words = shlex.split(table)
        except ValueError as error:
            raise ConfigError(f"{who}: {table.strip()!r} cannot be read: {error}") from None
        for key, _, value in (word.partition("=") for word in words):
            texts.setdefault(key, []).append(value)
        return texts
    if not isinstance(table, Mapping):
        raise ConfigError(f"{who} is {table!r}; expected a table of errors")
    for key, value in table.items():
        listed = list(map(str, value if isinstance(value, list | tuple) else [value]))
        texts[key] = listed if key == "confuse" else [",".join(listed)]
    return texts


def _errors(
    who: str, texts: Mapping[str, list[str]], annotators: Sequence[str], categories: Sequence[str]
) -> _Errors:
    """Return the errors of an annotator, whose other annotators may be copied."""
    values: dict[str, Any] = {}
    swaps = list[tuple[str, str, float]]()
    for key, text in ((key, text) for key, listed in texts.items() for text in listed):
        if key not in _FORMS:
            raise ConfigError(f"{who}: error {unknown_name(key, [*_FORMS])}")
        parsed, expected = _FORMS[key]
        try:
            if key == "confuse" and "/" in text:
                names, rate = _copy(text)
                first, second = names.split("/")
                if first == second or not {first, second} <= {*categories}:
                    raise ValueError(text)  # noqa: TRY301 - the same message
                swaps.append((first, second, rate))
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
    return _Errors(swaps=tuple(swaps), **values)


def _drawn_scene(
    n_images: int, mean_objects: float, shares: dict[str, float], overlap: float, rng: Generator
) -> Scene:
    """Return random boxes in images of 640 by 480 pixels, with room around them."""
    image = np.repeat(np.arange(n_images, dtype=np.int32), rng.poisson(mean_objects, n_images))
    n = len(image)
    low, high = np.log(_SIDES)
    side, aspect = rng.uniform(low, high, n), rng.normal(0, _ASPECT, n)
    sides = np.exp(np.stack([side + aspect, side - aspect], axis=1))
    size = np.full((n_images, 2), (_WIDTH, _HEIGHT), np.int32)
    none = np.zeros(0, np.int64), np.zeros((0, 4))
    edges = _free_boxes(image, sides, size, none, overlap, rng)
    weight = np.array(list(shares.values()))
    digits = max(4, len(str(n_images)))
    return Scene(
        image_names=tuple(f"image_{number + 1:0{digits}}.jpg" for number in range(n_images)),
        image_size=size, category_names=tuple(shares), id=np.arange(1, n + 1), image=image,
        category=rng.choice(len(weight), n, p=weight / weight.sum()).astype(np.int32), edges=edges,
        density=mean_objects if n else 0.0,
    )  # fmt: skip


def _scene_of(data: Dataset) -> Scene:
    """Return the objects of a data set by one annotator, without crowds, by image and id.

    Outlines are replaced by their boxes. Ids that are not above 0, or not distinct, are replaced.
    """
    where = ", ".join(source.name for source in data.sources)
    if len(data.annotator_names) > 1:
        names = ", ".join(data.annotator_names[:5])
        raise DatasetError([f"{where}: has annotators {names}; expected the truth, by one"])
    unknown = np.flatnonzero((data.image_size <= 0).any(axis=1))
    if len(unknown):
        name = data.image_names[unknown[0]]
        raise DatasetError([f"{where}: image {name}: has no width and height"])
    kept = data.annotations.take(np.flatnonzero(~data.annotations.iscrowd))
    kept = kept.take(np.lexsort((kept.id, kept.image)))
    corner, sides, ids = kept.bbox[:, :2], kept.bbox[:, 2:], kept.id
    flat = np.flatnonzero((sides <= 0).any(axis=1))
    if len(flat):
        raise DatasetError([f"{where}: annotation {kept.shown_ids(flat[:1])[0]}: box has no area"])
    if len(ids) and (ids.min() < 1 or len(np.unique(ids)) < len(ids)):
        ids = np.arange(1, len(ids) + 1)
    return Scene(
        image_names=data.image_names, image_size=data.image_size,
        category_names=data.category_names, id=ids, image=kept.image, category=kept.category,
        edges=np.concatenate([corner, corner + sides], axis=1),
        density=len(ids) / max(1, len(data.image_names)),
    )  # fmt: skip


def _free_boxes(
    image: IntArray,
    sides: FloatArray,
    image_size: IntArray,
    others: tuple[IndexArray | IntArray, FloatArray],
    overlap: float,
    rng: Generator,
) -> FloatArray:
    """Return boxes at random places inside their images, which ascend: left, top, right, bottom."""
    room = image_size[image] * (1 - 2 * _MARGIN)
    sides = np.minimum(sides, room)
    origin = image_size[image] * _MARGIN
    all_images = np.concatenate([others[0], image])
    order = np.argsort(all_images, kind="stable")
    all_images, place = all_images[order], np.argsort(order, kind="stable")[len(others[0]) :]
    edges = np.concatenate([others[1], np.zeros((len(image), 4))])[order]
    moved = np.arange(len(image))
    for attempt in range(_TRIES):
        corner = origin[moved] + rng.random((len(moved), 2)) * (room - sides)[moved]
        edges[place[moved]] = np.concatenate([corner, corner + sides[moved]], axis=1)
        # In the first round all boxes are new: of two that overlap, only one is moved.
        start = np.searchsorted(all_images, image[moved])
        stop = np.searchsorted(all_images, image[moved], side="right") if attempt else place[moved]
        right, offsets = rows(start, stop)
        left = np.repeat(np.arange(len(moved)), np.diff(offsets))
        own = place[moved][left]
        hit = (bbox_iou(edges[own], edges[right]) > overlap) & (own != right)
        moved = moved[np.bincount(left[hit], minlength=len(moved)) > 0]
        if not len(moved):
            break
    return edges[place].round(_DECIMALS)


class _View(msgspec.Struct, frozen=True, eq=False):
    """A scene as one annotator sees it."""

    scene: Scene
    errors: _Errors
    seed: int
    number: int

    def stream(self, purpose: str) -> Generator:
        return np.random.default_rng([self.seed, self.number + 1, _STREAMS[purpose]])

    def happens(self, kind: str) -> BoolArray:
        """Return for which objects an error of this kind occurs, (N,)."""
        rate: float = getattr(self.errors, kind)
        return self.stream(kind).random(len(self.scene)) < rate


def _all_boxes(scene: Scene, profiles: Mapping[str, _Errors], asked: BoolArray, seed: int) -> Boxes:
    """Return the boxes of all annotators, ordered by image, then annotator."""
    names = [*profiles]
    views = [_View(scene, each, seed, place) for place, each in enumerate(profiles.values())]
    own = [_drawn(view) for view in views]
    found = []
    for place, view in enumerate(views):
        mine = own[place]
        boxes: Boxes = mine[asked[mine["image"], place]]
        if view.errors.copy is not None:
            source = names.index(view.errors.copy[0])
            both = asked[:, place] & asked[:, source]
            copies = both & (view.stream("copy").random(len(asked)) < view.errors.copy[1])
            theirs = own[source]
            parts = [boxes[~copies[boxes["image"]]], theirs[copies[theirs["image"]]]]
            boxes = _joined(parts)
        worked = view.stream("time").exponential(_SECONDS - 1, len(boxes)) + 1
        passed = np.cumsum(worked).astype(np.int64)
        boxes["annotator"] = place
        boxes["seconds"] = _FIRST_DAY + passed + passed // _SESSION * _PAUSE
        found.append(boxes)
    return _joined(found)


def _joined(parts: Sequence[Boxes]) -> Boxes:
    joined: Boxes = np.concatenate(parts)
    ordered: Boxes = joined[np.argsort(joined["image"], kind="stable")]
    return ordered


def _boxes_of(scene: Scene, truth: IndexArray, category: IntArray, edges: FloatArray) -> Boxes:
    """Return boxes of some objects, with the categories of all objects."""
    found = np.zeros(len(truth), _BOX)
    found["image"], found["category"] = scene.image[truth], category[truth]
    found["edges"], found["truth"] = edges, truth
    found["merged"] = found["seconds"] = -1
    return found


def _drawn(view: _View) -> Boxes:
    """Return the boxes of objects: whole ones, merged ones, halves, duplicates; and extras."""
    scene = view.scene
    edges, category = _placed(view, view.stream("jitter")), _named_objects(view)
    seen = np.flatnonzero(~view.happens("miss"))
    first, second = _merged_pairs(view, seen)
    alone = seen[~np.isin(seen, np.concatenate([first, second]))]
    is_split = view.happens("split")[alone]
    whole, parted = alone[~is_split], alone[is_split]
    twice = whole[view.happens("duplicate")[whole]]
    again = _placed(view, view.stream("again"))[twice]
    one, other = edges[first], edges[second]
    around = np.hstack([np.minimum(one, other)[:, :2], np.maximum(one, other)[:, 2:]])
    merged = _boxes_of(scene, first, category, around)
    merged["merged"] = second
    # Parts are cut near the middle of the longer side.
    halves = edges[parted], edges[parted]
    sides, place = halves[0][:, 2:] - halves[0][:, :2], np.arange(len(parted))
    axis = sides.argmax(axis=1)
    share = view.stream("cut").uniform(*_CUT, len(parted))
    cut = (halves[0][place, axis] + share * sides[place, axis]).round(_DECIMALS)
    halves[0][place, axis + 2] = halves[1][place, axis] = cut
    # Extras have the size and category of some object. Images are independent of each other, as
    # intervals that draw images assume.
    rng = view.stream("extra")
    counts = rng.poisson(view.errors.extra * scene.density, len(scene.image_names))
    image = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    shape = rng.integers(0, max(1, len(scene)), len(image))
    others = scene.image, scene.edges
    free = _free_boxes(image, scene.sides[shape], scene.image_size, others, 0.0, rng)
    extras = _boxes_of(scene, shape, scene.category, free)
    extras["image"], extras["truth"] = image, -1
    return _joined([
        _boxes_of(scene, whole, category, edges[whole]), merged,
        *(_boxes_of(scene, parted, category, half) for half in halves),
        _boxes_of(scene, twice, category, again), extras,
    ])  # fmt: skip


def _placed(view: _View, rng: Generator) -> FloatArray:
    """Return the edges of all objects as the annotator places them in their images, (N, 4)."""
    scene, errors, true, sides = view.scene, view.errors, view.scene.edges, view.scene.sides
    # Rounding would change boxes even without errors, so that only those with errors are computed.
    grown = (errors.scale - 1) * sides / 2 if errors.scale != 1 else np.zeros_like(sides)
    pixels, share = np.array(errors.offset).T
    shift = pixels + share * sides
    jitter = errors.jitter[0] + errors.jitter[1] * np.tile(sides, 2)
    noise = rng.standard_normal((len(scene), 4)) * jitter
    edges = true + np.hstack([shift - grown, shift + grown]) + noise
    least = np.minimum(_NARROWEST, sides)
    lowest = np.minimum(0, true[:, :2])
    highest = np.maximum(scene.image_size[scene.image], true[:, 2:])
    low = np.clip(edges[:, :2], lowest, highest - least)
    high = np.clip(edges[:, 2:], low + least, highest)
    return np.concatenate([low, high], axis=1).round(_DECIMALS)


def _named_objects(view: _View) -> IntArray:
    """Return the category of all objects as the annotator names them, (N,) int32."""
    scene, names = view.scene, view.scene.category_names
    named = scene.category.copy()
    chance = view.stream("swap").random(len(scene))
    for first, second, rate in view.errors.swaps:
        codes = names.index(first), names.index(second)
        for true, other in (codes, codes[::-1]):
            named[(scene.category == true) & (chance < rate)] = other
    rng = view.stream("confuse")
    wrong = (rng.random(len(scene)) < view.errors.confuse) & (named == scene.category)
    step = 1 + (rng.random(len(scene)) * (len(names) - 1)).astype(np.int32)
    return np.where(wrong, (scene.category + step) % len(names), named).astype(np.int32)


def _merged_pairs(view: _View, seen: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the pairs of objects that are drawn in one box, each with its nearest neighbour."""
    scene = view.scene
    wanting = np.flatnonzero(view.happens("merge")[seen])
    if not len(wanting) or len(seen) < 2:
        return seen[:0], seen[:0]
    from scipy.spatial import KDTree

    centre = (scene.edges[seen, :2] + scene.edges[seen, 2:]) / 2
    # A third coordinate keeps images further apart than any two points of one image.
    layer = scene.image[seen] * (4.0 * (scene.image_size.max() + np.abs(centre).max()))
    points = np.column_stack([centre, layer])
    _, near = KDTree(points).query(points[wanting], k=2)
    partner = np.where(near[:, 0] == wanting, near[:, 1], near[:, 0])
    same = scene.image[seen[partner]] == scene.image[seen[wanting]]
    wanting, partner = wanting[same], partner[same]
    rank = view.stream("claim").permutation(len(wanting))
    earliest = np.full(len(seen), len(wanting))
    np.minimum.at(earliest, wanting, rank)
    np.minimum.at(earliest, partner, rank)
    met = (earliest[wanting] == rank) & (earliest[partner] == rank)
    return seen[wanting[met]], seen[partner[met]]


def _document(
    scene: Scene,
    ids: IndexArray,
    boxes: Boxes,
    annotators: Sequence[str],
    asked: Sequence[Sequence[str]],
    info: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a COCO document of boxes, and of images with the annotators who were asked."""
    edges = boxes["edges"]
    sides = (edges[:, 2:] - edges[:, :2]).round(_DECIMALS)
    bbox = np.concatenate([edges[:, :2].round(_DECIMALS), sides], axis=1).tolist()
    times = np.datetime_as_string(boxes["seconds"].astype("datetime64[s]")).tolist()
    annotations = []
    for place, (number, box) in enumerate(zip(ids.tolist(), boxes, strict=True)):
        record = {
            "id": number,
            "image_id": int(box["image"]) + 1,
            "category_id": int(box["category"]) + 1,
            "bbox": bbox[place],
            "area": float(np.round(sides[place].prod(), _DECIMALS)),
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
