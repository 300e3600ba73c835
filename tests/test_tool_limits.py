"""Memory of commands on small hostile files of annotation tools."""

import base64
import io
import json
import zlib

import pytest
from PIL import Image
from support.forks import LIMITS, forked

BYTES = 1 << 30


def cvat(*shapes, width, height):
    image = f'<image id="0" name="a.jpg" width="{width}" height="{height}">'
    return f"<annotations>{image}{''.join(shapes)}</image></annotations>"


def cvat_mask(runs, width, height):
    place = f'left="0" top="0" width="{width}" height="{height}"'
    return f'<mask label="cat" rle="{runs}" {place}></mask>'


def darwin(width, height, *annotations):
    slot = {"slot_name": "0", "type": "image", "width": width, "height": height}
    item = {"name": "a.jpg", "path": "/", "slots": [slot]}
    return {"version": "2.0", "item": item, "annotations": annotations}


def darwin_masks(n, width, height, runs):
    numbers = {"dense_rle": runs, "mask_annotation_ids_mapping": {"m": 1}}
    masks = ({"id": "m", "name": "cat", "mask": {}} for _ in range(n))
    return darwin(width, height, {"id": "r", "raster_layer": numbers}, *masks)


def brush(width, height):
    """Return a mask that alternates between inside and outside in the longest runs."""
    left = 4 * width * height
    bits = [f"{left:032b}{7:05b}{2:04b}{3:04b}{7:04b}{15:04b}"]
    while left:
        n = min(left, 1 << 16)
        bits.append(f"111{n - 1:016b}{255 * (len(bits) % 2):08b}")
        left -= n
    return studio(bits, width, height)


def studio(bits, width, height):
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    numbers = [*int(text, 2).to_bytes(len(text) // 8, "big")]
    value = {"format": "rle", "rle": numbers, "brushlabels": ["cat"]}
    size = {"original_width": width, "original_height": height}
    result = [{"id": "q", "type": "brushlabels", **size, "value": value}]
    work = [{"id": 1, "completed_by": 1, "result": result}]
    return [{"id": 1, "data": {"image": "a.jpg"}, "annotations": work}]


def picture(side):
    data = io.BytesIO()
    Image.new("1", (side, side), 1).save(data, "PNG")
    return data.getvalue()


def labelme(n, side):
    mask = base64.b64encode(picture(side)).decode()
    corners = [[0, 0], [side - 1, side - 1]]
    shape = {"label": "cat", "points": corners, "shape_type": "mask", "mask": mask}
    size = {"imageWidth": side, "imageHeight": side}
    return {
        "version": "5.2.1",
        "imagePath": "a.jpg",
        "imageData": None,
        **size,
        "shapes": [shape] * n,
    }


def supervisely(n, side):
    data = base64.b64encode(zlib.compress(picture(side), 9)).decode()
    bitmap = {"origin": [0, 0], "data": data}
    shape = {"id": 1, "classTitle": "cat", "geometryType": "bitmap", "bitmap": bitmap}
    return {
        "description": "",
        "tags": [],
        "size": {"width": side, "height": side},
        "objects": [shape] * n,
    }


MASKS = {
    # Pixels of the first took 40 bytes each, and of the second 16 GB in all.
    "a mask of CVAT.xml": lambda: cvat(
        cvat_mask("0,1600000000", 40_000, 40_000), width=40_000, height=40_000
    ),
    "masks of CVAT.xml": lambda: cvat(
        *[cvat_mask("0,400000000", 20_000, 20_000)] * 10_000, width=20_000, height=20_000
    ),
    "wide masks of CVAT.xml": lambda: cvat(
        *[cvat_mask("0,2000000,2000000", 2_000_000, 2)] * 10_000, width=2_000_000, height=2
    ),
    "a mask of Darwin.json": lambda: darwin_masks(1, 40_000, 40_000, [1, 1_600_000_000]),
    "masks of Darwin.json": lambda: darwin_masks(
        20_000, 40_000, 50, [each for i in range(50) for each in (i % 2, 40_000)]
    ),
    "a brush of Label Studio.json": lambda: brush(30_000, 30_000),
    "a mask of LabelMe.json": lambda: labelme(1, 12_000),
    "masks of LabelMe.json": lambda: labelme(30, 8_000),
    "a mask of Supervisely.json": lambda: supervisely(1, 12_000),
    "masks of Supervisely.json": lambda: supervisely(1000, 11_000),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_take_memory_for_their_runs_alone(name, tmp_path):
    path = tmp_path / name
    content = MASKS[name]()
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert path.stat().st_size < 1_000_000
    done = forked("validate", path, limits=LIMITS)
    assert (done.returncode, done.stderr) in {(0, ""), (1, "")}
    assert done.memory < BYTES


def test_an_ordinary_mask_takes_little_memory(tmp_path):
    # It took 528 MB: 40 bytes for each pixel.
    rows = ",".join(["500"] + ["3000,1000"] * 2999 + ["3000,500"])
    path = tmp_path / "a.xml"
    path.write_text(cvat(cvat_mask(rows, 4000, 3000), width=4000, height=3000))
    done = forked("validate", path, limits=LIMITS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.memory < 200e6
