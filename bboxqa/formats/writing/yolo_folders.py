"""YOLO's label files: a folder for each annotator."""

import json
from collections.abc import Iterator, Sequence

from bboxqa.formats.writing.content import Content, Record, image_name
from bboxqa.formats.writing.losses import Loss, common_losses, folder_losses
from bboxqa.formats.writing.outlines import Kind, kind_of, outline_losses, rings_of
from bboxqa.formats.writing.safe_names import people_paths, safe_paths, without_ending
from bboxqa.formats.writing.writer import Options, Writer, Written


def _boxes_losses(content: Content, _options: Options) -> Iterator[Loss]:
    return _losses(content, "YOLO detect", ())


def _outline_losses(content: Content, _options: Options) -> Iterator[Loss]:
    return _losses(content, "YOLO segment", ("rotated", "polygon"))


def _losses(content: Content, title: str, held: Sequence[Kind]) -> Iterator[Loss]:
    yield from outline_losses(content, title, held)
    yield from common_losses(content, title)
    yield from folder_losses(content, title)


def _boxes(content: Content, _options: Options) -> Iterator[Written]:
    return _files(content, outlines=False)


def _outlines(content: Content, _options: Options) -> Iterator[Written]:
    return _files(content, outlines=True)


def _files(content: Content, *, outlines: bool) -> Iterator[Written]:
    drawn_in = {each["image_id"] for each in content.annotations}
    content.check_sizes("YOLO", drawn_in)
    paths = safe_paths(image_name(each) for each in content.images)
    people = people_paths(content.annotators)
    classes = {each["id"]: place for place, each in enumerate(content.categories)}
    listed: dict[str, list[str]] = {name: [] for name in content.annotators or [""]}
    for place, image in enumerate(content.images):
        *folders, last = paths[image_name(image)]
        ending = image_name(image)[len(without_ending(image_name(image))) :]
        for name, drawn in content.works(place):
            lines = [_line(each, image, classes, outlines=outlines) for each in drawn]
            parts = (*people[name], "labels", *folders, f"{last}.txt")
            yield Written(parts, "".join(lines).encode())
            listed[name].append("/".join(("./images", *folders, last + ending)))
    for name, own in listed.items():
        yield Written((*people[name], "train.txt"), "".join(f"{each}\n" for each in own).encode())
        yield Written((*people[name], "data.yaml"), _settings(content).encode())


def _settings(content: Content) -> str:
    # A text of JSON is one of YAML.
    names = [
        f"  {place}: {json.dumps(each['name'], ensure_ascii=False)}\n"
        for place, each in enumerate(content.categories)
    ]
    return "".join(["train: train.txt\nval: train.txt\nnames:\n", *names])


def _line(annotation: Record, image: Record, classes: dict[int, int], *, outlines: bool) -> str:
    width, height = image["width"], image["height"]
    if outlines:
        shares = _ring(annotation, width, height)
    else:
        x, y, w, h = annotation["bbox"]
        shares = [(x + w / 2) / width, (y + h / 2) / height, w / width, h / height]
    values = " ".join(f"{each:.10g}" for each in shares)
    return f"{classes[annotation['category_id']]} {values}\n"


def _ring(annotation: Record, width: float, height: float) -> list[float]:
    """Return the outline of an annotation in shares; the corners of one without outline."""
    if kind_of(annotation) in ("polygon", "rotated"):
        ring: list[list[float]] = rings_of(annotation)[0].tolist()
    else:
        x, y, w, h = annotation["bbox"]
        ring = [[x, y], [x + w, y], [x + w, y + h], [x, y + h]]
    return [share for x, y in ring for share in (x / width, y / height)]


YOLO = Writer("YOLO detect", "folder", (".txt", ".yaml"), _boxes_losses, _boxes)
"""Boxes."""
YOLO_SEGMENT = Writer("YOLO segment", "folder", (".txt", ".yaml"), _outline_losses, _outlines)
"""Outlines; a box is an outline of four points."""
