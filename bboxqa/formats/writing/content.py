"""The content to write, as COCO records with all keys of the source files, and its preparation."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from functools import cached_property
from posixpath import dirname
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.arrays import listed_by
from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count, one_line, such_as
from bboxqa.formats.label_folders import original_of
from bboxqa.formats.translation.masks import RowMasks
from bboxqa.formats.writing.names import from_place, people_paths, safe_paths, without_ending
from bboxqa.formats.writing.outlines import (
    Outline,
    Record,
    bounds_of,
    flat_rings,
    has_other_bounds,
    outlines_of,
    rings_of,
)
from bboxqa.model.masks import MAX_MASK_PIXELS

KEY_POINT = "key point"
"""The shape of an annotation that is a single point."""
NameKind = Literal["category", "image", "annotator"]


def joints_named(category: Record) -> list[str]:
    """Return the names of the joints of a category, of those without one their numbers."""
    given = category.get("keypoints")
    names = enumerate(given if isinstance(given, list) else (), start=1)
    return [name if isinstance(name, str) else str(place) for place, name in names]


class Joint(NamedTuple):
    """A key point."""

    name: str
    x: float
    y: float
    visibility: int
    """0 if not labelled, 1 if hidden, 2 if visible."""


class Content(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Images, categories and annotations, with unique integer ids."""

    images: Sequence[Record]
    """Each has `id` and, if known, `file_name`, `width`, `height` and `annotators`, who were
    asked. `own_id` is the id in its file if that is text."""
    categories: Sequence[Record]
    """Each has `id` and `name`."""
    annotations: Sequence[Record]
    """Each has `id`, `image_id`, `category_id` and `bbox`; `annotator` if one is named; and
    `own_id`, the id of its tool. One with key points alone has their extent, and a `shape`."""
    apart: Sequence[Record] = ()
    """Annotations without a box: each has its `shape`, lines also `points`, which are x and y in
    turn, `id`, `image_id`, `label`, and `annotator` if one is named."""
    repeats: Sequence[str] = ()
    """The places of annotations that are left out, of images that their author had annotated."""
    asked: Sequence[Sequence[str]] = ()
    """For each image, the annotators who were asked, even if its record does not list them."""
    top: Record = msgspec.field(default_factory=dict)
    """Top-level keys of COCO files, such as `info`, in which they do not differ."""
    differing: Sequence[str] = ()
    """Top-level keys of COCO files that differ."""
    own_names: Mapping[int, str] = msgspec.field(default_factory=dict)
    """By id, the names of categories with control characters, which are escaped in `name`."""
    masks: RowMasks = msgspec.field(default_factory=RowMasks)
    as_predictions: bool = False
    """Whether to write predictions instead of annotations for Label Studio."""
    any_rectangle: bool = False
    """Whether a rectangle is a rotated box also without an angle, and not a polygon."""
    parts: Mapping[int, str] = msgspec.field(default_factory=dict)
    """The part of each image, by its id, if there are parts."""

    @cached_property
    def annotators(self) -> list[str]:
        """The names of annotators, sorted."""
        drew = {each["annotator"] for each in self.annotations if "annotator" in each}
        return sorted(drew.union(*self.asked))

    @cached_property
    def people(self) -> dict[str, tuple[str, ...]]:
        """The path of one part of each annotator; no parts of nobody."""
        return people_paths(self.annotators)

    @cached_property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """A unique path for the file of each image, by its name, without suffix."""
        return safe_paths(map(image_name, self.images))

    @cached_property
    def category_names(self) -> dict[int, str]:
        """The names of categories, by id."""
        return {each["id"]: each["name"] for each in self.categories}

    @cached_property
    def joint_names(self) -> dict[int, list[str]]:
        """The names of joints, by category id; empty for categories without joints."""
        return {each["id"]: joints_named(each) for each in self.categories}

    @cached_property
    def by_image(self) -> dict[int, dict[str, list[Record]]]:
        """The annotations by image and annotator, which is "" if nobody is named."""
        found: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
        for each in self.annotations:
            found[each["image_id"]][each.get("annotator", "")].append(each)
        return found

    @cached_property
    def outlines(self) -> dict[int, Outline]:
        """The outlines of annotations, by id."""
        return outlines_of(self.annotations, any_rectangle=self.any_rectangle)

    def joints_of(self, annotation: Record) -> list[Joint]:
        """Return the joints of an annotation; joints without a name are numbered."""
        given = annotation.get("keypoints") or ()
        names = self.joint_names[annotation["category_id"]]
        names = [*names, *(str(place) for place in range(len(names) + 1, len(given) // 3 + 1))]
        triples = zip(names, given[::3], given[1::3], given[2::3], strict=False)
        # Models write scores in place of visibility.
        return [Joint(name, x, y, min(int(np.ceil(seen)), 2)) for name, x, y, seen in triples]

    def held(self, shapes: Container[str]) -> list[Record]:
        """Return the annotations without a box that have points and one of these shapes."""
        return [each for each in self.apart if "points" in each and each["shape"] in shapes]

    def lines(self, place: int, name: str, shapes: Container[str]) -> list[Record]:
        """Return the annotations with points and one of these shapes, by image and annotator."""
        found = self._apart.get((self.images[place]["id"], name), ())
        return [each for each in found if "points" in each and each["shape"] in shapes]

    @cached_property
    def _apart(self) -> dict[tuple[int, str], list[Record]]:
        found: dict[tuple[int, str], list[Record]] = defaultdict(list)
        for each in self.apart:
            found[each.get("image_id", 0), each.get("annotator", "")].append(each)
        return found

    def works(self, place: int) -> list[tuple[str, list[Record]]]:
        """Return the annotators asked about the image at index `place`, with their annotations."""
        drawn = self.by_image.get(self.images[place]["id"], {})
        names = {*self.asked[place], *drawn} or ({""} if not self.annotators else set())
        return [(name, drawn.get(name, [])) for name in sorted(names)]

    def files(
        self, folder: str, suffix: str, paths: Mapping[str, tuple[str, ...]] | None = None
    ) -> Iterator[tuple[int, str, list[Record], tuple[str, ...]]]:
        """Yield index of image, annotator and their annotations, and the path of their file."""
        for place, image in enumerate(self.images):
            *inner, last = (paths or self.paths)[image_name(image)]
            for name, drawn in self.works(place):
                around = (*self.people[name], *filter(None, (folder,)))
                yield place, name, drawn, (*around, *inner, last + suffix)


def without_categories(content: Content, names: Container[str]) -> Content:
    """Return a content without categories and their annotations."""
    kept = [each for each in content.categories if each["name"] not in names]
    ids = {each["id"] for each in kept}
    return replace(
        content,
        images=[
            {**image, "annotators": [*asked]} if asked else image
            for image, asked in zip(content.images, content.asked, strict=True)
        ],
        categories=kept,
        annotations=[each for each in content.annotations if each["category_id"] in ids],
        apart=[each for each in content.apart if each.get("label") not in names],
    )


def with_suffix(content: Content, suffix: str) -> Content:
    """Return a content in which names of images without a suffix of pictures end in one."""
    if without_ending(f"a{suffix}") != "a":
        raise ConfigError(f"image suffix is {suffix!r}; expected such as .jpg or .png")
    images = [
        {**each, "file_name": name + suffix} if without_ending(name) == name else each
        for name, each in ((image_name(each), each) for each in content.images)
    ]
    [(most, n_images)] = Counter(map(image_name, images)).most_common(1) or [("", 0)]
    if n_images > 1:
        raise ConfigError(f"with {suffix}, {n_images} images are called {most!r}")
    return replace(content, images=images)


def image_name(image: Record) -> str:
    """Return the file name of an image, else its id, with half characters as their escape."""
    name = str(image.get("file_name") or image.get("own_id") or image["id"])
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def shown_id(annotation: Record) -> str:
    """Return the id of an annotation that its tool shows."""
    return str(annotation.get("own_id") or annotation["id"])


def is_point(annotation: Record) -> bool:
    """Return whether an annotation is a single point, as CVAT writes it a set of one."""
    is_set = annotation.get("shape") == "point set" and len(annotation["keypoints"]) == 3
    return is_set or annotation.get("shape") == KEY_POINT


def completed(keypoints: list[float], n_joints: int) -> list[float]:
    """Return key points with omitted joints at the end added as not labelled."""
    return [*keypoints, *[0] * (3 * n_joints - len(keypoints))]


def has_joints(annotation: Record) -> bool:
    """Return whether an annotation has a labelled key point."""
    return any(seen > 0 for seen in (annotation.get("keypoints") or ())[2::3])


# A noun ends before these words.
_LAST_WORD = re.compile(r"\w+(?= (?:of|with|without|around|beside) |$)")


def _plural(noun: str) -> str:
    """Return "names of images" for "name of an image"."""

    def many(found: re.Match[str]) -> str:
        word = found[0]
        return f"{word[:-1]}ies" if word.endswith("y") else word + "e" * word.endswith("x") + "s"

    rest = re.sub(r"(?<= of) an? (\w+)", lambda found: " " + re.sub(r"\w+", many, found[1]), noun)
    return _LAST_WORD.sub(many, rest, count=1)


class Loss(msgspec.Struct, frozen=True):
    """One kind of data that a format cannot hold."""

    n: int
    noun: str
    """Such as "polygon", or a phrase that begins with a noun."""
    why: str
    example: str = ""
    how: Literal["left out", "changed", "ambiguous"] = "left out"
    """Whether it is not written, or read back differently, for sure or perhaps."""

    @property
    def what(self) -> str:
        """The noun in the plural."""
        return _plural(self.noun)

    def __str__(self) -> str:
        shown = such_as(self.n, self.example) if self.example else ""
        return f"{count(self.n, self.noun, self.what)}{shown}: {self.why}"


class Written(msgspec.Struct, frozen=True):
    """A file to write."""

    parts: tuple[str, ...]
    """The folders and the name inside the output; empty if the output is the file itself."""
    data: bytes


class Writer(msgspec.Struct, frozen=True):
    """A format in which annotations can be written."""

    title: str
    layout: Literal["file", "folder", "folder or file"]
    """The kind of output; "folder or file" is a file where its name ends in a suffix."""
    suffixes: tuple[str, ...]
    files: Callable[[Content], Iterator[Written]]
    """Yields the files of a content, without the losses, if the sizes that are needed are known."""
    holds: frozenset[str] = frozenset()
    """What is written besides boxes, categories and annotators. Losses are what it does not name:

    - outlines: "polygon", "holes", "mask", "rotation" (sides and an angle), "corners" (the four
      corners of any outline), and "box and outline" if both are written;
    - "keypoints", with "visibility", "area" and "keypoint box" (the box or its extent);
    - lines: "polyline", "line", "cuboid";
    - keys of records such as "score", "attributes" or "source"; "keys" for all of them;
    - "crowd" and "unasked images";
    - what no annotator said: "image ids", "annotation ids", "category ids", "image sizes",
      "unused categories", "descriptions" such as `info`, and "unnamed images".
    """
    keys: Callable[[Content], Collection[str]] = lambda _: ()
    """Returns further keys of annotations that are written, given the content."""
    keeps: Callable[[str, object], bool] = lambda *_: True
    """Whether the value of a key, such as "attributes.occluded", is read back as it is."""
    reads: Mapping[NameKind, Callable[[str], str]] = msgspec.field(default_factory=dict)
    """Return names, by what they name, as they are read back."""
    losses: Callable[[Content], Iterator[Loss]] = lambda _: iter(())
    """Yields further data that the format cannot hold."""
    folder: str = ""
    """The folder with the files of an annotator, for formats with a file for each image."""
    read_name: Callable[[str, str], str] = from_place
    """Returns the name of an image as it is read back, from its name and the path of its file."""
    needs_sizes: Literal["all images", "drawn images"] | None = None
    """The images whose width and height are needed: all, or those with annotations."""
    is_known_by_suffix: bool = False
    """Whether a file can only be read back if its name ends in one of `suffixes`."""
    lists_parts: bool = False
    """Whether the format lists the images of parts, and does not write a data set for each."""
    makes_texts: bool = False
    """Whether values of attributes that are no texts are read back as texts."""


# Rings that are bridged, and points of rings that overlap: joining more takes minutes.
_MOST_RINGS, _MOST_POINTS = 200, 1000
_NEAR = 1e-6
FOLDER, STEM = "folder", "stem"
"""The groups of images in one folder, and of copies of one image, by their names."""


def held_as_one(content: Content, to_format: Writer) -> tuple[Content, list[str]]:
    """Return a content whose outlines of several rings a format holds, and notes on them."""
    holds = to_format.holds
    if "holes" in holds or "polygon" not in holds:
        return content, []
    are_masks, images = "mask" in holds, {each["id"]: each for each in content.images}
    kinds, new = ({"holes"} if are_masks else {"holes", "mask"}), dict[int, Record]()
    for each in content.annotations:
        if content.outlines[each["id"]].kind in kinds:
            image = images[each["image_id"]]
            if found := as_mask(each, image) if are_masks else _ring(content, each):
                new[each["id"]] = each | found
    what, how = ("masks", "filled as by pycocotools") if are_masks else ("rings", "bridged")
    of = "of several rings" if are_masks else "of several rings or pixels"
    outlines = count(len(new), f"outline {of}", f"outlines {of}")
    notes = [f"changed: {outlines} became {what} in {to_format.title}, {how}"] if new else []
    annotations = [new.get(each["id"], each) for each in content.annotations]
    return replace(content, annotations=annotations), notes


def as_mask(annotation: Record, image: Record) -> Record | None:
    """Return the mask that pycocotools makes of an outline, and its box; None without pixels."""
    from pycocotools import mask

    width, height = (int(image.get(key) or 0) for key in ("width", "height"))
    rings, far = flat_rings(annotation), 4 * max(width, height)
    is_far = max(map(abs, (number for ring in rings for number in ring))) > far
    if is_far or width * height >= MAX_MASK_PIXELS:
        return None
    found: Any = mask.merge(mask.frPyObjects(rings, height, width))
    new = {"segmentation": {"size": [height, width], "counts": found["counts"].decode()}}
    left, top, right, bottom = bounds_of(new) or (np.nan,) * 4
    if not left < right:
        return None
    box = {"bbox": [left, top, right - left, bottom - top]}
    return new if has_other_bounds(annotation) else new | box


def _ring(content: Content, annotation: Record) -> Record | None:
    """Return an outline as one ring that passes through all rings; None with too many of them."""
    import shapely
    from scipy.spatial import cKDTree
    from shapely.geometry.polygon import orient

    polygons: list[Any] = []
    if isinstance(annotation["segmentation"], dict):
        from rasterio import Affine
        from rasterio.features import shapes

        pixels, left, top = content.masks.picture(annotation)
        moved = {"connectivity": 4, "transform": Affine.translation(left, top)}
        found = shapes(pixels.astype(np.uint8), mask=pixels, **moved)
        polygons = [shapely.geometry.shape(each) for each, _ in found]
    else:
        parts = [*map(shapely.polygons, rings_of(annotation))]
        whole: Any = shapely.multipolygons(parts)
        if not shapely.is_valid(whole):
            if shapely.get_num_coordinates(whole) > _MOST_POINTS:
                return None
            whole = shapely.union_all(shapely.make_valid(parts))
        every = shapely.get_parts(shapely.get_parts(whole)).tolist()
        polygons = [each for each in every if each.geom_type == "Polygon"]
    # Outer rings go one way and holes the other, so that their areas add up.
    polygons = [*map(orient, polygons)]
    loops = [each for polygon in polygons for each in shapely.get_rings(polygon).tolist()]
    if not 0 < len(loops) <= _MOST_RINGS:
        return None
    *rings, whole = (shapely.get_coordinates(each)[:-1] for each in loops)
    for ring in reversed(rings):
        # The bridge leads from the nearest points there and back, so that it has no area.
        distance, place = cKDTree(whole).query(ring)
        at = int(distance.argmin())
        to = int(place[at])
        whole = np.concatenate([ring[: at + 1], whole[to:], whole[: to + 1], ring[at:]])
    return {"segmentation": [whole.ravel().tolist()]}


class Parts(msgspec.Struct, frozen=True):
    """The parts to write, and how images get to them."""

    shares: tuple[tuple[str, float], ...]
    """The name of each part, and its share of the images."""
    seed: int = 0
    group_by: str | None = None
    """The key of image records whose values stay together, "folder" or "stem"."""

    def __post_init__(self) -> None:
        shares = [share for _, share in self.shares]
        is_whole = min(shares, default=0) > 0 and abs(sum(shares) - 1) <= _NEAR
        are_plain = all(re.fullmatch(r"\w[\w-]*", name) for name, _ in self.shares)
        if len(dict(self.shares)) < max(len(shares), 2) or not (is_whole and are_plain):
            shown = ",".join(f"{name}={share:g}" for name, share in self.shares)
            expected = "shares that sum up to 1, such as train=0.8,val=0.2"
            raise ConfigError(f"parts are {shown}; expected {expected}")

    def check(self, to_format: Writer) -> None:
        """Refuse parts without train and val for a format that names both to training."""
        if to_format.lists_parts and not {"train", "val"} <= {name for name, _ in self.shares}:
            raise ConfigError(f"{to_format.title} needs the parts train and val")

    def of_images(self, content: Content) -> dict[int, str]:
        """Return the part of each image, by its id; the same for any order of images."""
        groups: dict[str, list[int]] = defaultdict(list)
        for image in sorted(content.images, key=image_name):
            name = image_name(image)
            names = {None: name, FOLDER: dirname(name), STEM: original_of(name)}
            group: object = names.get(self.group_by, image)
            if self.group_by not in names:
                for key in str(self.group_by).split("."):
                    group = group.get(key) if isinstance(group, dict) else None
            if isinstance(group, dict | list) or group in (None, ""):
                known = ", ".join(map(one_line, sorted({*image} - {"annotators"})))
                problem = f"image {one_line(name)} has no text or number {self.group_by!r}"
                expected = f"{FOLDER}, {STEM}, or a key of all images ({known})"
                raise ConfigError(f"{problem} to group by; expected {expected}")
            groups[str(group)].append(image["id"])
        whole = [*groups.values()]
        drawn = [whole[place] for place in np.random.default_rng(self.seed).permutation(len(whole))]
        wanted = {name: share * len(content.images) for name, share in self.shares}
        found: dict[int, str] = {}
        for ids in sorted(drawn, key=len, reverse=True):
            part = max(wanted, key=lambda name: wanted[name])
            wanted[part] -= len(ids)
            found |= dict.fromkeys(ids, part)
        if empty := [name for name in wanted if name not in {*found.values()}]:
            some = f"{count(len(groups), 'group')} of {count(len(found), 'image')}"
            raise ConfigError(f"part {empty[0]} gets no image: there are {some}")
        return found

    def notes(self, content: Content) -> Iterator[str]:
        """Yield how many images each part has, how they were drawn, and copies that are apart."""
        n_of = Counter(content.parts.values())
        shown = ", ".join(f"{name} {n_of[name]:,}" for name, _ in self.shares)
        how = "image" if self.group_by is None else f"groups of equal {one_line(self.group_by)}"
        yield f"images of parts, drawn by {how} with seed {self.seed}: {shown}"
        of = listed_by((original_of(image_name(e)), content.parts[e["id"]]) for e in content.images)
        if n_apart := sum(len(each) for each in of.values() if len({*each}) > 1):
            some = f"{count(n_apart, 'image')} in several parts are copies by their names"
            yield f"{some}: --group-by {STEM} keeps those of one original in one part"


def in_parts(content: Content, to_format: Writer) -> Iterator[Written]:
    """Yield the files of a content in a folder with a file or folder for each part."""
    for part in dict.fromkeys(content.parts.values()):
        ids = {each for each, own in content.parts.items() if own == part}
        asked = zip(content.images, content.asked, strict=True)
        taken = replace(
            content,
            images=[each for each in content.images if each["id"] in ids],
            asked=[names for image, names in asked if image["id"] in ids],
            annotations=[each for each in content.annotations if each["image_id"] in ids],
            apart=[each for each in content.apart if each.get("image_id") in ids],
        )
        for each in to_format.files(taken):
            parts = (part, *each.parts) if each.parts else (f"{part}{to_format.suffixes[0]}",)
            yield Written(parts, each.data)
