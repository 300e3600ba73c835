"""The pairs that reach a threshold, for every similarity, and what is refused."""

import numpy as np
import pytest
from pycocotools import mask as coco
from support.datasets import boxes_as_outlines, dataset, random_rows
from support.masks import decode, encode

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.geometry import candidates
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.geometry.registry import similarity

SIZE = (48, 50)
SQUARE = [10.0, 10, 30, 10, 30, 30, 10, 30]


def made(seed):
    rng = np.random.default_rng(seed)
    rows = sorted(random_rows(rng, n_images=5, n_boxes=4))
    outlines = boxes_as_outlines(rows)
    for place, (*_, (x, y, width, height)) in enumerate(rows):
        if rng.random() < 0.5:
            outlines[place] = [[x, y, x + width, y, x + width / 2, y + height]]
    return rows, outlines


def drawn(outline):
    return coco.merge(coco.frPyObjects(outline, SIZE[1], SIZE[0]))


def slow(name, a, b):
    """Return the similarity of two outlines by other means."""
    if name == "polygon":
        from shapely import Polygon

        p, q = (Polygon(np.reshape(outline[0], (-1, 2))) for outline in (a, b))
        return p.intersection(q).area / p.union(q).area
    p, q = (decode(drawn(outline)) for outline in (a, b))
    return (p & q).sum() / max((p | q).sum(), 1)


def test_masks_are_compared_as_masks_wherever_one_is_in_the_image():
    rows, outlines = made(2)
    mixed = [drawn(o) if rows[i][1] == 1 else o for i, o in enumerate(outlines)]
    data = dataset(rows, mixed, size=SIZE)
    for name in ("polygon", "mask"):
        pairs, _ = candidate_pairs(data, name, 0.05)
        assert len(pairs) > 3
        for a, b, iou in zip(pairs.left, pairs.right, pairs.similarity, strict=True):
            is_mask = 1 in (rows[a][1], rows[b][1]) or name == "mask"
            kind = "mask" if is_mask else "polygon"
            expected = slow(kind, outlines[a], outlines[b])
            assert iou == pytest.approx(expected, abs=1e-9)


def two(outline_a, outline_b, size=(40, 40)):
    box = (10.0, 10.0, 20.0, 20.0)
    return dataset([(0, 0, 0, box), (0, 1, 0, box)], [outline_a, outline_b], size=size)


MASK = encode(np.eye(40))
FAR = [0.0, 0, 9e8, 0, 9e8, 9e8, 0, 9e8]
OF_OUTLINES = ("polygon", "mask", "pixel", "raster")
NO_SIZE = "image 'image 0000' has no width and height; similarity 'NAME' needs them"
# In the files of annotation tools, boxes are outlines as well.
TOOL = "or the files of the annotation tool, in which a box is a rectangular outline."


@pytest.mark.parametrize(
    ("data", "names", "messages"),
    [
        (
            dataset([(0, 0, 0, (0.0, 0.0, 5.0, 5.0))]),
            OF_OUTLINES,
            ["segmentations were not read; similarity 'NAME' needs them", "segmentation=True"],
        ),
        (
            two([SQUARE], None),
            OF_OUTLINES,
            ["annotation 1 of 'annotator 0001' in image 'image 0000' has no segmentation", TOOL],
        ),
        (
            two([SQUARE], MASK),
            ("pixel", "raster"),
            ["is RLE, not polygons", "compare with --similarity mask, polygon or bbox."],
        ),
        (
            two(MASK, encode(np.eye(30)), (0, 0)),
            ("polygon", "mask"),
            ["the mask is 30 × 30 (height × width); expected 40 × 40, as the image"],
        ),
        (two([SQUARE], [SQUARE], (0, 0)), ("mask",), [NO_SIZE]),
        (two([SQUARE], MASK, (0, 0)), ("polygon",), [NO_SIZE]),
        (
            two([FAR], [FAR], (100, 100)),
            ("mask",),
            ["its polygon reaches far outside its image of 100 × 100 px"],
        ),
        *(
            (two([SQUARE], [SQUARE], size), ("mask",), ["are drawn as masks up to 100,000 px per"])
            for size in ((10**9, 10), (70_000, 70_000))
        ),
    ],
)
def test_outlines_that_cannot_be_compared(data, names, messages):
    for name in names:
        with pytest.raises(DatasetError) as caught:
            candidate_pairs(data, name, 0.5)
        for message in messages:
            assert message.replace("NAME", name) in str(caught.value)


@pytest.mark.parametrize("name", ["mask", "polygon"])
def test_masks_alone_need_no_image_size(name):
    pairs, _ = candidate_pairs(two(MASK, MASK, size=(0, 0)), name, 1.0)
    assert pairs.similarity.tolist() == [1]


def test_an_image_of_one_box_drawn_thousands_of_times_is_refused(monkeypatch):
    rows = [(1, annotator, 0, (5, 5, 20, 20)) for annotator in (0, 1) for _ in range(800)]
    data = dataset([(0, 0, 0, (5, 5, 20, 20)), *rows])
    assert len(candidate_pairs(data, "bbox", 0.5)[0]) == 640_000
    monkeypatch.setattr(candidates, "_MEMORY", 1_000_000)
    with pytest.raises(DatasetError, match=r"image 'image 0001': too many of its 1,600 annot") as e:
        candidate_pairs(data, "bbox", 0.5)
    assert "640,000 pairs reach the threshold 0.5, and matching needs all of them" in str(e.value)


def test_an_unknown_name():
    with pytest.raises(ConfigError, match="similarity is 'boxes'; expected one of bbox, giou,"):
        similarity("boxes")
