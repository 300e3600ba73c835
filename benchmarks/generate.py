"""Replicate an annotated COCO file, with jitter, to a wanted number of annotations.

Every copy of an image gets a new id and file name, every annotation a new id and slightly moved
geometry, so that no two copies have the same overlaps. The output is written as it is made: the
memory needed does not grow with the number of annotations.

    python benchmarks/generate.py SOURCE --annotations 35000 --seed 0 --out FILE
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import numpy.typing as npt
import shapely

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Record = dict[str, Any]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

JITTER = 0.01
"""Standard deviation of a vertex's displacement, as a part of its box's width and height."""

EDGE_PART = 0.25
"""A vertex moves by at most about this part of its shorter edge; more would tangle the outline."""

DECIMALS = 2
"""Coordinates are rounded as LVIS rounds its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """The polygon rings of one copy of the source, as flat arrays.

    Rings are stored without their closing vertex; `closed` says which of them had one.
    """

    xy: FloatArray  # (V, 2) vertices in px
    vertex_offsets: IntArray  # (R + 1,) ring r has the vertices [vertex_offsets[r], … [r + 1])
    annotation_offsets: IntArray  # (N + 1,) the same for the rings of an annotation
    closed: npt.NDArray[np.bool_]  # (R,)
    scale: FloatArray  # (V, 2) standard deviation of each vertex's displacement in px
    limit: FloatArray  # (V, 2) width and height of each vertex's image in px


def read_source(path: Path) -> Record:
    """Read the source with its annotations sorted by image, in the order of the images.

    Raises
    ------
    ValueError
        If there is nothing to replicate, or an annotation is not a list of polygons.
    """
    document: Record = json.loads(path.read_text(encoding="utf-8"))
    if not document["annotations"]:
        raise ValueError(f"{path.name}: no annotations to replicate")
    for annotation in document["annotations"]:
        rings = annotation.get("segmentation")
        if not isinstance(rings, list) or not rings or min(map(len, rings)) < 6:
            number = annotation["id"]
            raise ValueError(f"{path.name}: annotation {number}: expected polygons, found {rings}")
    rank = {image["id"]: place for place, image in enumerate(document["images"])}
    document["annotations"].sort(key=lambda annotation: rank[annotation["image_id"]])
    return document


def flatten(document: Record) -> Rings:
    """Put the rings of all annotations end to end."""
    rings: list[FloatArray] = []
    closed: list[bool] = []
    sizes: list[FloatArray] = []
    limits: list[FloatArray] = []
    annotation_offsets = [0]
    image_size = {i["id"]: (i["width"], i["height"]) for i in document["images"]}
    for annotation in document["annotations"]:
        for flat in annotation["segmentation"]:
            ring = np.array(flat, dtype=np.float64).reshape(-1, 2)
            closed.append(bool((ring[0] == ring[-1]).all()))
            rings.append(ring[:-1] if closed[-1] else ring)
            sizes.append(np.broadcast_to(annotation["bbox"][2:], rings[-1].shape))
            limits.append(np.broadcast_to(image_size[annotation["image_id"]], rings[-1].shape))
        annotation_offsets.append(len(rings))
    xy = np.concatenate(rings)
    offsets = np.concatenate(([0], np.cumsum([len(ring) for ring in rings])))
    edge = np.linalg.norm(xy[following(offsets)] - xy, axis=1)
    shorter_edge = np.minimum(edge, edge[preceding(offsets)])[:, None]
    return Rings(
        xy=xy,
        vertex_offsets=offsets,
        annotation_offsets=np.array(annotation_offsets),
        closed=np.array(closed),
        scale=np.minimum(JITTER * np.concatenate(sizes), EDGE_PART * shorter_edge),
        limit=np.concatenate(limits).astype(np.float64),
    )


def following(offsets: IntArray) -> IntArray:
    """Give for every vertex the index of the next one of its ring."""
    index = np.arange(1, offsets[-1] + 1)
    index[offsets[1:] - 1] = offsets[:-1]
    return index


def preceding(offsets: IntArray) -> IntArray:
    """Give for every vertex the index of the one before it in its ring."""
    index = np.arange(-1, offsets[-1] - 1)
    index[offsets[:-1]] = offsets[1:] - 1
    return index


def jitter(rings: Rings, generator: np.random.Generator) -> FloatArray:
    """Move every vertex by Gaussian noise: (V, 2), rounded, inside the image.

    A ring that crosses itself afterwards is moved as a whole instead: real outlines hardly ever
    cross themselves, and a file full of crossings would measure the tools' repairs.
    """
    noise = np.round(generator.normal(size=rings.xy.shape) * rings.scale, DECIMALS)
    lengths = np.diff(rings.vertex_offsets)
    moved = np.clip(np.round(rings.xy + noise, DECIMALS), 0.0, rings.limit)
    tangled = np.repeat(~simple(moved, rings), lengths)
    shift = np.repeat(noise[rings.vertex_offsets[:-1]], lengths, axis=0)
    shifted = np.clip(np.round(rings.xy + shift, DECIMALS), 0.0, rings.limit)
    return np.where(tangled[:, None], shifted, moved)


def simple(xy: FloatArray, rings: Rings) -> npt.NDArray[np.bool_]:
    """Tell for each ring whether it bounds a valid polygon: (R,)."""
    ring_of_vertex = np.repeat(np.arange(len(rings.closed)), np.diff(rings.vertex_offsets))
    outlines = shapely.linearrings(xy, indices=ring_of_vertex)
    return np.asarray(shapely.is_valid(shapely.polygons(outlines)), dtype=np.bool_)


def boxes_and_areas(xy: FloatArray, rings: Rings) -> tuple[FloatArray, FloatArray]:
    """Give the bounds (N, 4) as xywh and the areas (N,) of all annotations."""
    first_vertex = rings.vertex_offsets[rings.annotation_offsets[:-1]]
    low = np.minimum.reduceat(xy, first_vertex)
    high = np.maximum.reduceat(xy, first_vertex)
    ahead = xy[following(rings.vertex_offsets)]
    cross = xy[:, 0] * ahead[:, 1] - ahead[:, 0] * xy[:, 1]
    ring_areas = np.abs(np.add.reduceat(cross, rings.vertex_offsets[:-1])) / 2.0
    areas: FloatArray = np.add.reduceat(ring_areas, rings.annotation_offsets[:-1])
    boxes = np.round(np.concatenate([low, high - low], axis=1), DECIMALS)
    return boxes, areas.round(DECIMALS)


def copies_needed(document: Record, wanted: int) -> tuple[int, int]:
    """Give the number of whole copies, and of images of the copy after them.

    The last copy ends with the image that reaches the wanted number.
    """
    whole, rest = divmod(wanted, len(document["annotations"]))
    counts = dict.fromkeys((image["id"] for image in document["images"]), 0)
    for annotation in document["annotations"]:
        counts[annotation["image_id"]] += 1
    images = 0
    reached = 0
    for count in counts.values():
        if reached >= rest:
            break
        images += 1
        reached += count
    return whole, images


def copied_images(document: Record, copy: int, count: int) -> Iterator[Record]:
    """Give the image records of one copy."""
    images = document["images"]
    for place, image in enumerate(images[:count]):
        name = PurePosixPath(image["file_name"])
        yield {
            **image,
            "id": copy * len(images) + place + 1,
            "file_name": str(name.with_name(f"{name.stem}_{copy:04d}{name.suffix}")),
        }


def copied_annotations(
    document: Record, rings: Rings, copy: int, image_count: int, seed: int
) -> Iterator[Record]:
    """Give the jittered annotations of one copy; each copy has its own random numbers."""
    generator = np.random.default_rng([seed, copy])
    xy = jitter(rings, generator)
    boxes, areas = boxes_and_areas(xy, rings)
    coordinates, box_rows, area_list = xy.ravel().tolist(), boxes.tolist(), areas.tolist()
    starts = (2 * rings.vertex_offsets).tolist()
    ring_starts, closed = rings.annotation_offsets.tolist(), rings.closed.tolist()
    images = document["images"]
    places = {image["id"]: place for place, image in enumerate(images)}
    number = len(document["annotations"])
    for index, annotation in enumerate(document["annotations"]):
        place = places[annotation["image_id"]]
        if place >= image_count:
            return
        segmentation = []
        for ring in range(ring_starts[index], ring_starts[index + 1]):
            flat = coordinates[starts[ring] : starts[ring + 1]]
            segmentation.append(flat + flat[:2] if closed[ring] else flat)
        yield {
            **annotation,
            "id": copy * number + index + 1,
            "image_id": copy * len(images) + place + 1,
            "area": area_list[index],
            "bbox": box_rows[index],
            "segmentation": segmentation,
        }


def write_list(stream: TextIO, records: Iterable[Record]) -> int:
    """Write records as one json list and give their number."""
    encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
    count = 0
    stream.write("[")
    for count, record in enumerate(records, start=1):
        stream.write(("," if count > 1 else "") + encode(record))
    stream.write("]")
    return count


def write_copies(stream: TextIO, document: Record, wanted: int, seed: int) -> int:
    """Write the whole document and give its number of annotations."""
    whole, images_of_rest = copies_needed(document, wanted)
    plan = [(copy, len(document["images"])) for copy in range(whole)]
    if images_of_rest:
        plan.append((whole, images_of_rest))
    rings = flatten(document)
    stream.write("{")
    for key, value in document.items():
        if key not in ("images", "annotations"):
            stream.write(f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))},")
    stream.write('"images":')
    write_list(stream, (i for copy, count in plan for i in copied_images(document, copy, count)))
    stream.write(',"annotations":')
    number = write_list(
        stream,
        (a for copy, count in plan for a in copied_annotations(document, rings, copy, count, seed)),
    )
    stream.write("}\n")
    return number


def generate(source: Path, wanted: int, seed: int, out: Path) -> int:
    """Write `out` with at least `wanted` annotations and give their number.

    The file appears under its name only when it is complete.
    """
    document = read_source(source)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with temporary.open("w", encoding="utf-8", buffering=1 << 20) as stream:
            number = write_copies(stream, document, wanted, seed)
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)
    return number


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="COCO file with polygons, annotated repeatedly")
    parser.add_argument("--annotations", type=int, required=True, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.annotations < 1:
        parser.error("--annotations must be at least 1")
    try:
        number = generate(arguments.source, arguments.annotations, arguments.seed, arguments.out)
    except (OSError, ValueError) as error:
        parser.exit(1, f"{error}\n")
    print(f"{arguments.out}: {number:,} annotations")


if __name__ == "__main__":
    main()
