"""Small documents to convert, and what has to be the same after there and back."""

import json
import struct
import zlib

import bboxqa

CATEGORIES = ["cat", "traffic light"]


def document(images, annotations, categories=CATEGORIES):
    """Return COCO of images (name, width, height, asked) and annotations (image, who, …, box).

    Each annotation is the place of its image, its annotator, the place of its category, and a box
    or what else its record holds.
    """
    return {
        "images": [
            {"id": 10 + place, "file_name": name, "width": width, "height": height}
            | ({} if asked is None else {"annotators": asked})
            for place, (name, width, height, asked) in enumerate(images)
        ],
        "categories": [{"id": number, "name": name} for number, name in enumerate(categories, 1)],
        "annotations": [
            {"id": 100 + place, "image_id": 10 + image, "category_id": 1 + category}
            | {"annotator": who, "iscrowd": 0}
            | (more if isinstance(more, dict) else {"bbox": more})
            for place, (image, who, category, more) in enumerate(annotations)
        ],
    }


def written(path, content):
    """Write a document, and return its path."""
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


ENDINGS = {"csv": ".csv", "parquet": ".parquet", "coco": ".json", "label-studio": ".json"}


def there_and_back(source, folder, *formats):
    """Return the COCO document of a source after it was in one format after the other."""
    sizes = json.loads(source.read_bytes())["images"]
    options = {}
    for number, to in enumerate((*formats, "coco")):
        out = folder / f"step{number}{ENDINGS.get(to, '')}"
        found = bboxqa.convert(source, out, to=to, lossy=to == "dota", **options)
        options = by_folders(to, found)
        # The pictures, which are put beside the labels, have the endings.
        assert {loss.what for loss in found.losses} <= {"names of images"}
        if to.startswith("yolo") or to == "dota":
            add_pictures(sizes, out)
        source = out
    return json.loads(source.read_bytes())


def by_folders(to, conversion):
    """Return the options by which an output is read back, whose folders alone name annotators."""
    is_named = to.startswith("yolo") or to in {"dota", "voc", "labelme"}
    return {"attribution": "files"} if is_named and conversion.annotators else {}


def add_pictures(images, folder):
    """Put pictures beside the labels of annotators: the size of an image stands in no label."""
    for person in folder.iterdir():
        for image in images:
            path = person / "images" / image["file_name"]
            path.parent.mkdir(parents=True, exist_ok=True)
            size = struct.pack(">IIBBBBB", image["width"], image["height"], 8, 2, 0, 0, 0)
            path.write_bytes(b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", size) + _chunk(b"IDAT", b""))


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def asked_about(content):
    """Return who was asked about each image, with those who drew in it."""
    asked = {each["id"]: set(each.get("annotators", ())) for each in content["images"]}
    for each in content["annotations"]:
        asked[each["image_id"]].add(each["annotator"])
    return {each["file_name"]: asked[each["id"]] for each in content["images"]}


def drawn(content, *, ids=False):
    """Return boxes by image, annotator and category, and with `ids` by those of both records."""
    names = {each["id"]: each["file_name"] for each in content["images"]}
    labels = {each["id"]: each["name"] for each in content["categories"]}
    found = {}
    for each in content["annotations"]:
        image = each["image_id"]
        key = (names[image], each["annotator"], labels[each["category_id"]])
        key += (image, each["id"]) if ids else ()
        found.setdefault(key, []).append(each["bbox"])
    return found
