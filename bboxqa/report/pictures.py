"""The worst images as pages draw them, and the pages of a folder that show them."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

import msgspec

from bboxqa.model.diagnosis import ALL_AGREE
from bboxqa.report.chart import series_style
from bboxqa.report.pages import INDEX, render

BLANK_CANVAS = "drawn on a blank canvas"
# Images per page, so that browsers can open a page with many annotations.
_OF_A_PAGE = 50
# The size of letters as a share of the longer side of an image.
_LETTER = 1 / 44
# Boxes are drawn up to this far outside their image, as a share of its longer side.
_BEYOND = 4.0


class Pixels(msgspec.Struct, frozen=True):
    """The pixels of an image: where the page finds them, and the size of the whole image."""

    address: str
    """A data URL, or a path relative to the page; "" if they cannot be shown."""
    width: int
    height: int
    problem: str = ""
    """Why they cannot be shown."""
    remark: str = ""
    """What is wrong with those that are shown."""

    @property
    def note(self) -> str:
        """What the page says about them."""
        return f"{BLANK_CANVAS}: {self.problem}" if self.problem else self.remark


Record = Mapping[str, Any]


class ShownImages(msgspec.Struct, frozen=True):
    """The images that pages show: records of the document "worst_images", with what is drawn."""

    pictures: Sequence[Record]
    annotators: Sequence[tuple[str, int, str]]
    """Names, the numbers that shapes refer to, and their styles."""
    categories: Mapping[str, int]
    n_images: int
    measure: str
    by_annotators: bool
    """Whether shapes are of annotators, not of kinds."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of disagreement in the images."""
        return sorted({kind for each in self.pictures for kind in each["kinds"]})

    @property
    def title(self) -> str:
        """What a page calls the images."""
        return "The images that cost most agreement" if self.kinds else "The images"

    @property
    def has_alpha(self) -> bool:
        """Whether any image has an alpha; with a single category, none has."""
        return any(each["record"]["alpha"] is not None for each in self.pictures)

    @property
    def has_f1(self) -> bool:
        """Whether the images have an F1; those of a consensus have none."""
        return any("f1" in each["record"] for each in self.pictures)

    @property
    def looked_for(self) -> bool:
        """Whether the pixels of any image were looked for."""
        return any(each["pixels"] or each["note"] for each in self.pictures)


def line_style(place: int) -> str:
    """Return the classes of colour and dashes of the annotator at an index."""
    color, dash = series_style(place)
    return f"stroke-series-{color} dash-{dash}"


def outline_path(shape: Record) -> str:
    """Return the outline of a shape, or its box, as the data of an SVG path."""
    lines = "".join("M{:.7g} {:.7g}L{:.7g} {:.7g}".format(*line) for line in shape.get("lines", ()))
    if not shape.get("rings"):
        x, y, width, height = (f"{side:.7g}" for side in shape["bbox"])
        return f"M{x} {y}h{width}v{height}H{x}z{lines}"
    return lines + "".join(
        "M" + "L".join(f"{x:.7g} {y:.7g}" for x, y in zip(ring[::2], ring[1::2], strict=True)) + "z"
        for ring in shape["rings"]
    )


def worst_first(worst: Record | None, *, every: bool) -> list[Record]:
    """Return the images of the document "worst_images"; none without a document."""
    images: list[Record] = [] if worst is None else worst["images"]
    return [
        image for image in images
        if every or (image["cost"] or 0) >= 0
        or any(each["kind"] != ALL_AGREE for each in image["objects"])
    ]  # fmt: skip


def shown_images(
    worst: Record | None,
    images: Sequence[Record],
    pixels: Mapping[str, Pixels],
    every: Sequence[str] = (),
    styles: Mapping[str, str] | None = None,
) -> ShownImages:
    """Return some images of the document "worst_images" as pages show them."""
    present = {name for image in images for name in _people(image)}
    order = [*every, *sorted(present - {*every})]
    style = {name: line_style(place) for place, name in enumerate(order)}
    style.update(styles or {})
    given = {shape["category"] for image in images for shape in image["shapes"]}
    categories = {name: place for place, name in enumerate(sorted(given))}
    number = {name: place for place, name in enumerate(order) if name in present}
    pictures = []
    for place, image in enumerate(images, 1):
        shapes = []
        for shape in image["shapes"]:
            who, category, look = shape["annotator"], shape["category"], style[shape["annotator"]]
            hidden, (color, _, dash) = shape.get("hidden_points", ()), look.partition(" ")
            said = f"{shape['object']}: {category} by {who} (annotation {shape['annotation']})"
            shapes.append({
                "d": outline_path(shape), "number": shape["object"], "style": look, "color": color,
                "dash": dash, "text": said, "annotator": number[who],
                "category": categories[category],
                # Each point is a line of length 0 with round ends.
                "dots": _dots([*shape.get("visible_points", ()), *hidden]),
                "hidden": _dots(hidden),
            })  # fmt: skip
        # Where outlines coincide, the gaps of a broken line show the solid line below it.
        shapes.sort(key=lambda shape: shape["dash"] != "dash-0")
        found = pixels.get(image["file_name"])
        own = found if found is not None and found.address else None
        width, height = _size(image, own)
        letter = round(max(width, height) * _LETTER, 2)
        disagreed = [each for each in image["objects"] if each["kind"] != ALL_AGREE]
        corners = {each["object"]: (inf, inf) for each in disagreed}
        for shape in image["shapes"]:
            if (unit := shape["object"]) in corners:
                corners[unit] = (*map(min, corners[unit], shape["bbox"][:2]),)
        pictures.append({
            "number": place, "name": image["file_name"], "record": image, "width": width,
            "height": height, "view": _view(width, height, image["shapes"]), "pixels": own,
            "note": "" if found is None else found.note,
            "disagreed": disagreed,
            "agreed": [each for each in image["objects"] if each["kind"] == ALL_AGREE],
            "kinds": sorted({kind for each in disagreed for kind in each["kinds"]}),
            "shapes": shapes, "letter": letter,
            # A number stands above its line, and within the image.
            "labels": [
                (unit, round(max(x, 0.0), 1), round(max(y - letter / 6, letter), 1))
                for unit, (x, y) in corners.items()
            ],
            "asked": [(name, style[name]) for name in _people(image)],
            "categories": sorted({shape["category"] for shape in shapes}),
        })  # fmt: skip
    annotators = [(name, place, style[name]) for name, place in number.items()]
    n_images, measure = (0, "IoU") if worst is None else (worst["n_images"], worst["measure"])
    return ShownImages(pictures, annotators, categories, n_images, measure, styles is None)


def _people(image: Record) -> list[str]:
    return sorted({*image["asked"], *(shape["annotator"] for shape in image["shapes"])})


def _size(image: Record, pixels: Pixels | None) -> tuple[float, float]:
    """Return the size of an image; if unknown, that of the bounds of all shapes."""
    if image["width"] and image["height"]:
        return image["width"], image["height"]
    if pixels is not None:
        return pixels.width, pixels.height
    (_, right), (_, bottom) = (_ends(image["shapes"], k, 1.0) for k in (0, 1))
    return right, bottom


def _ends(shapes: Sequence[Record], k: int, side: float) -> tuple[float, float]:
    """Return where shapes and a side of their image, from 0 on, begin and end along an axis."""
    places = [place for e in shapes for place in (e["bbox"][k], e["bbox"][k] + e["bbox"][k + 2])]
    places += [place for e in shapes for ring in e.get("rings") or () for place in ring[k::2]]
    return min([*places, 0.0]), max([*places, side])


def _view(width: float, height: float, shapes: Sequence[Record]) -> str:
    """Return the part of the plane that is drawn, an image and shapes beyond it, for SVG."""
    far = _BEYOND * max(width, height)
    every = (_ends(shapes, k, side) for k, side in enumerate((width, height)))
    (left, right), (top, bottom) = ((max(low, -far), min(high, far)) for low, high in every)
    return f"{left:.7g} {top:.7g} {right - left:.7g} {bottom - top:.7g}"


def _dots(points: Sequence[Sequence[float]]) -> str:
    return "".join(f"M{x:.7g} {y:.7g}h0" for x, y in points)


def image_address(number: int) -> str:
    """Return the URL at which the image of a number is shown."""
    return f"images-{(number - 1) // _OF_A_PAGE + 1}.html#image-{number}"


def image_pages(images: ShownImages) -> Iterator[tuple[str, str]]:
    """Yield the pages of images, each with its name."""
    n_images = len(images.pictures)
    starts = range(0, n_images, _OF_A_PAGE)
    others = [
        (f"images-{place}.html", f"{start + 1:,} to {min(start + _OF_A_PAGE, n_images):,}")
        for place, start in enumerate(starts, 1)
    ]
    for (name, numbers), start in zip(others, starts, strict=True):
        yield name, render(
            "images", linked=True, title=f"Images {numbers}", name=name, index=INDEX,
            others=others, images=images, pictures=images.pictures[start : start + _OF_A_PAGE],
        )  # fmt: skip
