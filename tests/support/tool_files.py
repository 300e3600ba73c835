"""Data sets and findings of files of annotation tools, in forms that are easy to compare."""

import json
import zipfile

import numpy as np

from bboxqa import read_coco, validate
from bboxqa.formats.choices import choices_of
from bboxqa.formats.records import ReadSettings
from bboxqa.formats.translation.collector import Collector


def write(folder, **files):
    """Write texts, bytes or values as JSON below a folder, by their names; return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def zipped(path, contents, compression=zipfile.ZIP_DEFLATED):
    """Write a zip archive of texts by name, or by what zipfile says of an entry."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def drawn(data):
    """Return (image, annotator, category, x, y, width, height) of each annotation, sorted."""
    each = data.annotations
    return sorted(
        (data.image_names[image], data.annotator_names[who], data.category_names[label], *box)
        for image, who, label, box in zip(
            each.image, each.annotator, each.category, each.bbox.round(6).tolist(), strict=True
        )
    )


def exact_rows(data):
    """Return (image, annotator, category, box) of each annotation, in order and not rounded."""
    each = data.annotations
    boxes = map(tuple, each.bbox.tolist())
    return [
        (data.image_names[image], data.annotator_names[who], data.category_names[label], box)
        for image, who, label, box in zip(
            each.image, each.annotator, each.category, boxes, strict=True
        )
    ]


def asked(data):
    """Return who was asked about each image."""
    names = np.array(data.annotator_names, object)
    rows = zip(data.image_names, data.assigned, strict=True)
    return {image: names[row].tolist() for image, row in rows}


def alone(path):
    """Return the data set of a source with one annotator."""
    return read_coco(path, min_annotators=1)


def found(path, code):
    """Return (file, line, pointer, message) of the findings of a rule."""
    return [
        (each.file, each.spot.line, each.pointer, each.message)
        for each in validate(path).findings
        if each.code == code
    ]


def translation_of(translate, source, **choices):
    """Return the translation of a source, and its annotations."""
    settings = ReadSettings(records=True, choices=choices_of(choices))
    found = Collector(settings)
    translate(source, found)
    found.flush()
    return found, [*found.records, *found.records_apart]


def text_of(form, name="a.jpg", box=(10, 20, 30, 40), *, size=(100, 80), who=""):
    """Return the file of a tool, as text, of an image with a box of a cat."""
    (x, y, w, h), (width, height), stem = box, size, name.rpartition(".")[0] or name
    right, bottom = x + w, y + h
    image = {"id": 1, "file_name": name, "width": width, "height": height}
    drawn = {"image_id": 1, "category_id": 1, "bbox": [*box]}
    percent = {"x": 100 * x / width, "y": 100 * y / height, "rectanglelabels": ["cat"]}
    percent |= {"width": 100 * w / width, "height": 100 * h / height, "rotation": 0}
    values = {
        "coco": {"images": [image], "categories": [{"id": 1, "name": "cat"}],
                 "annotations": [drawn | {"id": 1, "area": w * h, "iscrowd": 0}]},
        "results": [drawn | {"score": 0.9}],
        "label-studio": [{"id": 1, "data": {"image": name}, "annotations": [{
            "completed_by": who or None, "result": [{
                "id": "r", "type": "rectanglelabels", "from_name": "label", "to_name": "image",
                "value": percent, "original_width": width, "original_height": height}]}]}],
        "datumaro": {"info": {}, "categories": {"label": {"labels": [{"name": "cat"}]}}, "items": [{
            "id": stem, "image": {"path": name, "size": [height, width]}, "annotations": [{
                "id": 0, "type": "bbox", "label_id": 0, "bbox": [*box], "attributes": {}}]}]},
        "labelme": {"version": "5.2.1", "flags": {}, "imagePath": name, "imageData": None,
                    "imageWidth": width, "imageHeight": height, "shapes": [{
                        "label": "cat", "shape_type": "rectangle", "flags": {},
                        "points": [[x, y], [right, bottom]]}]},
    }  # fmt: skip
    texts = {
        "yolo": f"0 {(x + w / 2) / width} {(y + h / 2) / height} {w / width} {h / height}\n",
        "dota": f"{x} {y} {right} {y} {right} {bottom} {x} {bottom} cat 0\n",
        "table": f"image,label,x,y,width,height\n{name},cat,{x},{y},{w},{h}\n",
        "voc": (
            f"<annotation>\n<filename>{name}</filename>\n<size><width>{width}</width><height>"
            f"{height}</height></size>\n<object><name>cat</name><bndbox><xmin>{x + 1}</xmin><ymin>"
            f"{y + 1}</ymin><xmax>{right}</xmax><ymax>{bottom}</ymax></bndbox></object>\n"
            "</annotation>\n"
        ),
        "cvat": (
            "<annotations><version>1.1</version><meta><job><id>1</id><assignee>"
            f"{f'<username>{who}</username>' if who else ''}</assignee></job></meta>\n"
            f'<image id="0" name="{name}" width="{width}" height="{height}"><box label="cat" '
            f'xtl="{x}" ytl="{y}" xbr="{right}" ybr="{bottom}"></box></image></annotations>\n'
        ),
    }
    return texts[form] if form in texts else json.dumps(values[form])


SUFFIXES = {"yolo": "txt", "dota": "txt", "table": "csv", "voc": "xml", "cvat": "xml"}
"""Ends of names of files of tools; those of the others are json."""
