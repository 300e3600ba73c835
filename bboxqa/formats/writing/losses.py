"""Reporting losses: data that a format cannot hold."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from bboxqa.core.text import count, one_line, such_as
from bboxqa.formats.writing.content import Content, Record, image_name, shown_id
from bboxqa.formats.writing.safe_names import people_paths

_OF_ANNOTATIONS = {"id", "own_id", "image_id", "category_id", "bbox", "annotator", "area"}
_OF_LINES = {"points", "label"}
_OF_IMAGES = {"id", "own_id", "file_name", "width", "height", "annotators"}
IMAGE_ORIGINS = ("license", "flickr_url", "coco_url", "date_captured")
"""Keys of images in COCO that say where a picture is from."""
_OF_CATEGORIES = {"id", "own_id", "name"}
# Keys that follow from other keys, or carry no information.
_DERIVED = {"num_keypoints", "shape", "segmentation", "iscrowd"}

ATTRIBUTES = "attributes"
# Marks of objects, which say nothing if they are not set, as in all exports of CVAT.
_MARKS = ("occluded", "truncated", "difficult")
_UNMARKED = (0, "0", "false")
# How CVAT says that a shape began; other tools write what they like.
_SOURCES = ("auto", "semi-auto", "file", "consensus", "prediction")

How = Literal["left out", "changed", "ambiguous"]


class Noun(NamedTuple):
    """A noun, or a phrase that begins with it, in both numbers."""

    one: str
    many: str


ANNOTATIONS = Noun("annotation", "annotations")
IMAGES = Noun("image", "images")
CATEGORY_NAMES = Noun("name of a category", "names of categories")
IMAGE_NAMES = Noun("name of an image", "names of images")
ANNOTATOR_NAMES = Noun("name of an annotator", "names of annotators")


@dataclass(frozen=True, slots=True)
class Loss:
    """One kind of data that a format cannot hold."""

    n: int
    noun: Noun
    why: str
    example: str = ""
    how: How = "left out"
    """What happens to the data: they are not written, or are read back differently, for sure or
    perhaps."""

    @property
    def what(self) -> str:
        """The noun in the plural, such as "polygons"."""
        return self.noun.many

    def __str__(self) -> str:
        shown = such_as(self.n, self.example) if self.example else ""
        return f"{count(self.n, *self.noun)}{shown}: {self.why}"


def losses_of(
    lost: Sequence[Record], noun: Noun, why: str, how: How = "left out"
) -> Iterator[Loss]:
    """Yield the loss of annotations, if there are any."""
    if lost:
        yield Loss(len(lost), noun, why, f"annotation {one_line(shown_id(lost[0]))}", how)


def repeat_losses(content: Content) -> Iterator[Loss]:
    """Yield the loss of images that a person annotated again, of which no format holds both."""
    if content.repeats:
        noun = Noun(
            "annotation of an image that a person repeated",
            "annotations of an image that a person repeated",
        )
        why = "only the first by each person is written"
        yield Loss(len(content.repeats), noun, why, one_line(content.repeats[0]))


def common_losses(
    content: Content,
    title: str,
    *,
    annotations: Collection[str] = (),
    images: Collection[str] = (),
    categories: Collection[str] = (),
    crowds: bool = False,
    unasked: bool = False,
    lines: Collection[str] = (),
) -> Iterator[Loss]:
    """Yield the losses that most formats share.

    Parameters
    ----------
    content : Content
    title : str
        The name of the format in messages.
    annotations : collection of str
        Keys of annotations that the format holds besides the common ones, such as "score",
        "attributes" or "attributes.track_id".
    images, categories : collection of str
        Keys of images and of categories that the format holds besides the common ones.
    crowds : bool
        Whether the format marks crowds.
    unasked : bool
        Whether the format holds images about which nobody was asked.
    lines : collection of str
        Shapes without a box that the format holds if their points are known.
    """
    why = f"{title} has no place for it"
    held = content.held(lines)
    apart = Counter(each["shape"] for each in content.apart)
    apart.subtract(each["shape"] for each in held)
    for shape, n in apart.most_common():
        if n:
            yield Loss(n, Noun(shape, f"{shape}s"), f"{title} is written without them")
    if not crowds:
        crowd = [each for each in content.annotations if "iscrowd" in each]
        yield from losses_of(crowd, Noun("crowd", "crowds"), f"{title} has no mark of a group")
    if not unasked and content.annotators:
        places = [place for place, names in enumerate(content.asked) if not names]
        if places:
            some = Noun("image of no annotator", "images of no annotator")
            first = one_line(image_name(content.images[places[0]]))
            yield Loss(len(places), some, f"{title} only holds images of annotators", first)
    unnamed = [image_name(each) for each in content.images if not each.get("file_name")]
    if unnamed:
        example = f"image {one_line(unnamed[0])}"
        why_id = f"{title} has their id as name"
        noun = Noun("image without a name", "images without a name")
        yield Loss(len(unnamed), noun, why_id, example, "changed")
    known = {*_OF_ANNOTATIONS, *_DERIVED, *annotations}
    yield from key_losses(content.annotations, ANNOTATIONS, why, _among(known))
    yield from key_losses(held, Noun("line", "lines"), why, _among(known | _OF_LINES))
    known = {*_OF_IMAGES, *IMAGE_ORIGINS, *images}
    yield from key_losses(content.images, IMAGES, why, _among(known), image_name)
    known = {*_OF_CATEGORIES, *categories}
    named = Noun("category", "categories"), why, _among(known), lambda each: str(each["name"])
    yield from key_losses(content.categories, *named)


def folder_losses(content: Content, title: str) -> Iterator[Loss]:
    """Yield the loss of annotator names unfit as folders."""
    paths = people_paths(content.annotators)
    lost = [name for name in content.annotators if paths[name] != (name,)]
    if lost:
        why = f"{title} names folders after annotators, and has no such folders"
        yield Loss(len(lost), ANNOTATOR_NAMES, why, repr(one_line(lost[0])), "changed")


def label_losses(
    content: Content, title: str, plain: Callable[[str], str] | None = None
) -> Iterator[Loss]:
    """Yield the loss of category names that would be read back differently.

    `plain` returns a name as written, without control characters that the format refuses.
    """
    names = content.category_names.values()
    lost = [name for name in names if not name or (plain(name) if plain else name).strip() != name]
    if lost:
        why = f"{title} has no blanks around labels"
        why += "" if plain is None else ", and no control characters"
        yield Loss(len(lost), CATEGORY_NAMES, why, repr(one_line(lost[0])), "changed")


def key_losses(
    records: Iterable[Record],
    noun: Noun,
    why: str,
    is_held: Callable[[str, object], bool],
    name: Callable[[Record], str] = shown_id,
) -> Iterator[Loss]:
    """Yield a loss for each key that the format cannot hold.

    Parameters
    ----------
    records : iterable of dict
    noun : Noun
        What the records are.
    why : str
        Why keys are lost.
    is_held : callable
        (key, value) → whether the format holds it. Keys of attributes are such as
        "attributes.occluded".
    name : callable
        Returns the name of a record.
    """
    n_of: Counter[str] = Counter()
    first: dict[str, str] = {}
    for record in records:
        for key, value in _said(record):
            if not is_held(key, value):
                shown = f"{key} = {value}" if key == "source" and value in _SOURCES else key
                n_of[shown] += 1
                first.setdefault(shown, name(record))
    for key in sorted(n_of):
        example = f"{noun.one} {one_line(first[key])}"
        with_key = Noun(*(f"{each} with {one_line(key)!r}" for each in noun))
        yield Loss(n_of[key], with_key, why, example)


def _said(record: Record) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of a record, and those of its attributes, that say something.

    A supercategory that is the name of the category, or "none", says nothing.
    """
    name = record.get("name")
    for key, value in record.items():
        if key == ATTRIBUTES and isinstance(value, dict):
            for name, each in value.items():
                # Outlines keep the angle.
                if name != "rotation" and not (name in _MARKS and each in _UNMARKED):
                    yield f"{ATTRIBUTES}.{name}", each
        elif value in ("", [], {}) or (key == "supercategory" and value in ("none", name)):
            continue
        elif key != "keypoints" or not _are_unlabelled(value):
            yield key, value


def _are_unlabelled(keypoints: object) -> bool:
    """Return whether none of an annotation's key points is labelled; False for names of joints."""
    seen = keypoints[2::3] if isinstance(keypoints, list) else ()
    return len(seen) > 0 and all(each == 0 for each in seen)


def _among(known: Collection[str]) -> Callable[[str, object], bool]:
    """Return whether a key, or the attributes that it is one of, are known, as a function."""
    return lambda key, _: key in known or (ATTRIBUTES in known and key.startswith(f"{ATTRIBUTES}."))
