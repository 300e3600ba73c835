"""The pairs that reach a threshold, for every candidates, and what is refused."""

import os
from itertools import product

import numpy as np
import pytest
from pycocotools import mask as coco
from support import brute
from support.datasets import boxes_as_outlines, dataset, random_rows
from support.masks import decode, encode

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.geometry import candidates
from bboxqa.geometry.candidates import candidate_pairs
from bboxqa.geometry.kernels.boxes import bbox_centroid, bbox_giou, corners
from bboxqa.geometry.kernels.rasters import burn, draw_inclusive
from bboxqa.geometry.similarities import outlines as shapes
from bboxqa.geometry.similarities.registry import names, needs_keypoints
from bboxqa.model.units import PairBytes

SIZE = (48, 50)
SQUARE = [10.0, 10, 30, 10, 30, 30, 10, 30]
THRESHOLDS = {"giou": (-0.6, 0.0, 0.4)}


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


def slow(name, row_a, row_b, a, b, *, all_touched=False):
    """Return the similarity of one pair by other means."""
    boxes = [corners(np.array([row[3]])) for row in (row_a, row_b)]
    rings = [[np.reshape(ring, (-1, 2)) for ring in outline] for outline in (a, b)]
    if name in ("bbox", "obb"):
        return float(brute.box_iou(row_a[3], row_b[3]))
    if name == "giou":
        return bbox_giou(*boxes)[0]
    if name == "centroid":
        return bbox_centroid(*boxes)[0]
    if name == "polygon":
        from shapely import Polygon

        p, q = Polygon(rings[0][0]), Polygon(rings[1][0])
        return p.intersection(q).area / p.union(q).area
    if name == "mask":
        p, q = (decode(drawn(outline)) for outline in (a, b))
    else:
        kinds = {"pixel": draw_inclusive, "raster": burn}
        more = {"all_touched": True} if all_touched else {}
        p, q = (kinds[name](part, *SIZE, **more) for part in rings)
    return (p & q).sum() / max((p | q).sum(), 1)


SHARDS = (1 << 15, 1, 7)
# Each size of parts with random values of its own; `make fuzz` has all of all.
SEEDS_AND_SHARDS = (
    [*product(range(4), SHARDS)] if "BBOXQA_FUZZ" in os.environ else [*enumerate((*SHARDS, 7))]
)


# Key points are compared to brute force with points of their own.
@pytest.mark.parametrize("name", [name for name in names() if not needs_keypoints(name)])
@pytest.mark.parametrize(("seed", "shard"), SEEDS_AND_SHARDS)
def test_equal_to_comparing_all(name, seed, shard, monkeypatch):
    monkeypatch.setattr(candidates, "_SHARD", shard)
    rows, outlines = made(seed)
    data = dataset(rows, outlines, size=SIZE)
    everything = {
        (a, b): slow(name, rows[a], rows[b], outlines[a], outlines[b])
        for a, b in brute.neighbours(rows)
    }
    for threshold in THRESHOLDS.get(name, (0.1, 0.5, 1.0)):
        expected = {pair: iou for pair, iou in everything.items() if iou >= threshold - 1e-9}
        pairs, _ = candidate_pairs(data, name, threshold)
        keys = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
        assert keys == sorted(expected)
        assert pairs.similarity == pytest.approx([expected[key] for key in keys], abs=1e-9)


def test_raster_can_burn_all_that_is_touched():
    rows, outlines = made(9)
    # Off the grid of pixels, where rounding would decide what an edge touches.
    outlines = [[[value + 0.37 for value in ring] for ring in rings] for rings in outlines]
    pairs, _ = candidate_pairs(dataset(rows, outlines, size=SIZE), "raster", 0.05, all_touched=True)
    assert len(pairs) > 3
    for a, b, iou in zip(pairs.left, pairs.right, pairs.similarity, strict=True):
        expected = slow("raster", rows[a], rows[b], outlines[a], outlines[b], all_touched=True)
        assert iou == pytest.approx(expected)


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
            expected = slow(kind, rows[a], rows[b], outlines[a], outlines[b])
            assert iou == pytest.approx(expected, abs=1e-9)


def test_progress_ends_with_everything():
    told = []
    rows, _ = made(1)
    candidate_pairs(dataset(rows), "bbox", 0.5, progress=lambda *x: told.append(x))
    assert told[-1] == (len(rows), len(rows))


def test_no_annotations():
    for name in ("bbox", "polygon", "mask", "pixel"):
        pairs, _ = candidate_pairs(dataset([], []), name, 0.5)
        assert len(pairs) == 0


def two(outline_a, outline_b, size=(40, 40), *, n_images=1):
    box = (10.0, 10.0, 20.0, 20.0)
    return dataset([(0, 0, 0, box), (0, 1, 0, box)], [outline_a, outline_b], size=size)


def refused(data, name):
    with pytest.raises(DatasetError) as caught:
        candidate_pairs(data, name, 0.5)
    return caught.value


MASK = encode(np.eye(40))


def test_unknown_similarity():
    with pytest.raises(ConfigError, match="similarity is 'boxes'; expected one of bbox, giou,"):
        candidate_pairs(dataset([]), "boxes", 0.5)


@pytest.mark.parametrize("name", ["polygon", "mask", "pixel", "raster"])
def test_outlines_that_were_not_read(name):
    data = dataset([(0, 0, 0, (0.0, 0.0, 5.0, 5.0))])
    error = refused(data, name)
    assert error.problems == (f"the segmentations were not read; similarity {name!r} needs them",)
    assert "segmentation=True" in str(error)


@pytest.mark.parametrize("name", ["polygon", "mask", "pixel", "raster"])
def test_an_annotation_without_an_outline(name):
    error = refused(two([SQUARE], None), name)
    assert error.problems == (
        "annotation 1 of 'annotator 0001' in image 'image 0000' has no segmentation",
    )
    assert "on every annotation; compare with --similarity" in str(error)
    # In the files of annotation tools, boxes are outlines as well.
    own = "or the files of the annotation tool, in which a box is a rectangular outline."
    assert str(error).endswith(own)
    assert own not in str(refused(two(None, None), name))


@pytest.mark.parametrize("name", ["pixel", "raster"])
def test_masks_have_no_boundary_to_draw(name):
    error = refused(two([SQUARE], MASK), name)
    assert error.problems == (
        "annotation 1 of 'annotator 0001' in image 'image 0000' is RLE, not polygons",
    )
    assert "compare with --similarity mask, polygon or bbox." in str(error)


@pytest.mark.parametrize("name", ["polygon", "mask"])
def test_a_mask_of_another_size_than_its_image(name):
    error = refused(two([SQUARE], MASK, size=(40, 60)), name)
    assert error.problems == (
        (
            "annotation 1 of 'annotator 0001' in image 'image 0000': the mask is 40 × 40 "
            "(height × width); expected 60 × 40, as the image"
        ),
    )


@pytest.mark.parametrize("name", ["polygon", "mask"])
def test_masks_of_two_sizes_in_an_image_of_unknown_size(name):
    other = encode(np.eye(30))
    error = refused(two(MASK, other, size=(0, 0)), name)
    assert error.problems == (
        (
            "annotation 1 of 'annotator 0001' in image 'image 0000': the mask is 30 × 30 "
            "(height × width); expected 40 × 40, as the image"
        ),
    )


@pytest.mark.parametrize(("name", "other"), [("mask", [SQUARE]), ("polygon", MASK)])
def test_an_unknown_image_size(name, other):
    error = refused(two([SQUARE], other, size=(0, 0)), name)
    assert error.problems == (
        f"image 'image 0000' has no width and height; similarity {name!r} needs them",
    )


def test_polygons_alone_need_no_image_size():
    pairs, _ = candidate_pairs(two([SQUARE], [SQUARE], size=(0, 0)), "polygon", 0.5)
    assert pairs.similarity.tolist() == [1]


@pytest.mark.parametrize("name", ["mask", "polygon"])
def test_masks_alone_need_no_image_size(name):
    pairs, _ = candidate_pairs(two(MASK, MASK, size=(0, 0)), name, 1.0)
    assert pairs.similarity.tolist() == [1]


@pytest.mark.parametrize("name", ["pixel", "raster"])
def test_a_canvas_that_is_too_large(name):
    huge = [0.0, 0, 4e4, 0, 4e4, 4e4, 0, 4e4]
    error = refused(two([huge], [huge], size=(0, 0)), name)
    assert "spans 40000 × 40000 px from 0, 0; at most 134,217,728 px are drawn" in error.problems[0]


@pytest.mark.parametrize("name", ["pixel", "raster"])
def test_a_flat_polygon_takes_no_more_canvas_than_others(name):
    flat = [0.0, 0, 9e8, 0, 4e8, 0]
    assert "px are drawn" in refused(two([flat], [flat], size=(0, 0)), name).problems[0]


def test_a_polygon_far_outside_its_image_is_not_drawn_as_a_mask():
    far = [0.0, 0, 9e8, 0, 9e8, 9e8, 0, 9e8]
    error = refused(two([far], [far], size=(100, 100)), "mask")
    assert "its polygon reaches far outside its image of 100 × 100 px" in error.problems[0]


@pytest.mark.parametrize("size", [(10**9, 10), (70_000, 70_000)])
def test_an_image_too_large_for_masks(size):
    square = [0.0, 0, 9, 0, 9, 9, 0, 9]
    error = refused(two([square], [square], size=size), "mask")
    assert "polygons are drawn as masks up to 100,000 px per side" in error.problems[0]


@pytest.mark.parametrize("name", ["polygon", "mask", "pixel", "raster"])
@pytest.mark.parametrize("ring", [[1.0, 1, 5, 5], [3.0, 3]])
def test_polygons_of_too_few_points_alone(name, ring):
    pairs, counts = candidate_pairs(two([ring], [ring]), name, 0.5)
    assert len(pairs) == 0
    assert counts["short"] == 2


def test_counts():
    flat, bow_tie = [0.0, 0, 5, 5, 9, 9], [0.0, 0, 10, 10, 10, 0, 0, 10]
    rows = [(0, a, 0, (0.0, 0.0, 10.0, 0.0 if a == 2 else 10.0)) for a in range(3)]
    data = dataset(rows, [[flat], [bow_tie, [1.0, 1, 2, 2]], [SQUARE]])
    assert candidate_pairs(data, "bbox", 0.5)[1]["flat"] == 1
    counts = candidate_pairs(data, "polygon", 0.5)[1]
    assert (counts["flat"], counts["short"]) == (1, 1)
    assert counts["repaired"] >= 1


def test_images_of_too_many_edges_are_compared_in_pixels(monkeypatch):
    data = dataset(*made(5), size=SIZE)
    exact, counts = candidate_pairs(data, "polygon", 0.01)
    monkeypatch.setattr(shapes, "_MOST_EDGE_PAIRS", 0)
    in_pixels, counts_in_pixels = candidate_pairs(data, "polygon", 0.01)
    assert counts["tangled"] == 0
    assert counts_in_pixels["tangled"] > 0
    one, other = (
        dict(zip(zip(found.left.tolist(), found.right.tolist(), strict=True), found.similarity,
                 strict=True))
        for found in (exact, in_pixels)
    )  # fmt: skip
    shared = one.keys() & other.keys()
    assert len(shared) > 5
    assert [one[pair] for pair in shared] == pytest.approx([other[p] for p in shared], abs=0.02)


def test_a_hair_below_the_threshold_still_counts():
    rows = [(0, 0, 0, (0.1, 0.2, 0.3, 0.7)), (0, 1, 0, (0.1, 0.2, 0.3, 0.7))]
    outlines = [[[0.1, 0.2, 0.4, 0.2, 0.4, 0.9, 0.1, 0.9]]] * 2
    for name in ("bbox", "giou", "centroid", "polygon"):
        assert len(candidate_pairs(dataset(rows, outlines), name, 1.0)[0]) == 1


def test_an_image_of_one_box_drawn_thousands_of_times_is_refused(monkeypatch):
    rows = [(1, annotator, 0, (5, 5, 20, 20)) for annotator in (0, 1) for _ in range(800)]
    data = dataset([(0, 0, 0, (5, 5, 20, 20)), *rows])
    assert len(candidate_pairs(data, "bbox", 0.5)[0]) == 640_000
    monkeypatch.setattr(candidates, "_MEMORY", 1_000_000)
    with pytest.raises(DatasetError, match=r"image 'image 0001': too many of its 1,600 annot") as e:
        candidate_pairs(data, "bbox", 0.5)
    assert "640,000 pairs reach the threshold 0.5, and matching needs all of them" in str(e.value)


def test_pairs_that_are_matched_as_a_list_take_more_memory_than_those_in_a_table(monkeypatch):
    """One fifth of the pairs of five places overlap: too few of all for a table."""
    places = [(0, who, 0, (50 * place, 5, 20, 20)) for who in (0, 1) for place in range(5)]
    data = dataset([box for box in places for _ in range(240)])
    memory, of_pair = 5 * 240**2 * 220, PairBytes(60, 260)
    monkeypatch.setattr(candidates, "_MEMORY", memory)
    with pytest.raises(DatasetError, match="too many of its 2,400 annotations overlap"):
        candidate_pairs(data, "bbox", 0.5, pair_bytes=of_pair)
    monkeypatch.setattr(candidates, "_MEMORY", 2 * memory)
    enough = candidate_pairs(data, "bbox", 0.5, pair_bytes=of_pair)
    assert len(enough[0]) == 288_000
