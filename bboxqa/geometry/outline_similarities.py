"""Similarities of outlines: polygons, masks and rasters."""

from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, blocks, sum_by
from bboxqa.core.errors import DatasetError
from bboxqa.geometry import polygons, rasters
from bboxqa.geometry.boxes import iou_limit, iou_of, overlap
from bboxqa.geometry.polygons import PreparedPolygons, polygon_bounds, polygon_outlines, tangled_iou
from bboxqa.geometry.rasters import pixel_runs, shared_pixels
from bboxqa.geometry.similarity import (
    ONE_PIXEL,
    Compare,
    Comparison,
    Options,
    Similarity,
    describe,
    packed_outlines,
)
from bboxqa.model.annotations import Dataset
from bboxqa.model.masks import SegmentationKind, Segmentations

MANY_PAIRS = 1 << 14
"""With fewer pairs, comparing them all is faster than finding the same ones."""


def distinct_outlines(
    segmentation: Segmentations, image: IntArray
) -> tuple[IndexArray, IndexArray]:
    """Return an annotation of each distinct outline, (D,), and the outline of each one, (N,)."""
    ring = segmentation.ring_offsets
    first, last = segmentation.part_start.tolist(), segmentation.part_stop.tolist()
    bytes_of = zip(
        image.tolist(),
        segmentation.kind.tolist(),
        segmentation.size.tolist(),
        segmentation.counts_start.tolist(),
        segmentation.counts_stop.tolist(),
        strict=True,
    )
    known: dict[tuple[object, ...], int] = {}
    number = np.zeros(len(segmentation), np.int64)
    chosen: list[int] = []
    for place, (of_image, kind, size, start, stop) in enumerate(bytes_of):
        ends = ring[first[place] : last[place] + 1]
        xy = segmentation.xy[ends[0] : ends[-1]].tobytes() if len(ends) > 1 else b""
        mask = segmentation.counts[start:stop].tobytes()
        key = of_image, kind, *size, np.diff(ends).tobytes(), xy, mask
        number[place] = known.setdefault(key, len(known))
        if number[place] == len(chosen):
            chosen.append(place)
    return np.array(chosen, np.int64), number


def of_distinct(compare: Compare, first: IndexArray, number: IndexArray) -> Compare:
    """Return a comparison of annotations that compares each two distinct outlines once."""
    if 2 * len(first) > len(number) + 1:
        return compare

    def once(left: IndexArray, right: IndexArray) -> FloatArray:
        if len(left) < MANY_PAIRS:
            return compare(left, right)
        parts = list(blocks(len(left)))
        keys = np.zeros(0, np.int64)
        for part in parts:
            keys = np.union1d(keys, number[left[part]] * len(first) + number[right[part]])
        if 2 * len(keys) > len(left):
            return compare(left, right)
        similarity = compare(first[keys // len(first)], first[keys % len(first)])
        result = np.zeros(len(left))
        for part in parts:
            key = number[left[part]] * len(first) + number[right[part]]
            result[part] = similarity[np.searchsorted(keys, key)]
        return result

    return once


# Runs of pixels that are compared in an image, which takes about ten seconds.
_MOST_RUNS = 1 << 29
# Images with fewer pairs per annotation are measured, however long it takes.
_FEW_PAIRS = 32


def bounded(compare: Compare, dataset: Dataset, n_runs: IndexArray) -> Compare:
    """Return a comparison that refuses images in which it would take minutes."""
    image = dataset.annotations.image
    most = _FEW_PAIRS * np.bincount(image, minlength=len(dataset.image_names))

    def within(left: IndexArray, right: IndexArray) -> FloatArray:
        n_pairs, work = np.zeros((2, len(dataset.image_names)))
        for part in blocks(len(left)):
            a, b = left[part], right[part]
            n_pairs += np.bincount(image[a], minlength=len(n_pairs))
            work += sum_by(image[a], (n_runs[a] + n_runs[b]).astype(np.float64), len(work))
        too_many = np.flatnonzero((work > _MOST_RUNS) & (n_pairs > most))
        if len(too_many):
            raise DatasetError(
                [
                    f"image {dataset.image_names[number]!r}: too many of its annotations overlap: "
                    f"comparing the pixels of {n_pairs[number]:,.0f} pairs takes minutes"
                    for number in too_many.tolist()
                ],
                "Look for repeated annotations with: bboxqa validate\n"
                "Or compare with --similarity polygon, which takes larger pixels there, or bbox.",
            )
        return compare(left, right)

    return within


def _mask(dataset: Dataset, _: Options) -> Comparison:
    segmentation, counts = packed_outlines(dataset)
    image = dataset.annotations.image
    first, number = distinct_outlines(segmentation, image)
    size = dataset.image_size[image[first]].astype(np.int64)
    rles = rasters.masks(segmentation.take(first), size)
    bounds, area = rasters.mask_bounds(rles), rasters.mask_areas(rles)
    is_box = area == (bounds[:, 2:] - bounds[:, :2]).prod(axis=1)
    n_bytes = np.array([len(rle["counts"]) for rle in rles], np.int64)

    def of_boxes(a: IndexArray, b: IndexArray) -> FloatArray:
        return iou_of(area[a], area[b], overlap(bounds[a], bounds[b]))

    of_outlines = _split(~is_box, of_boxes, partial(rasters.mask_iou, rles))

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        return of_outlines(number[left], number[right])

    work = np.where(is_box, 0, n_bytes)[number]
    return Comparison(
        compare=of_distinct(bounded(compare, dataset, work), first, number),
        bounds=bounds[number],
        limit=partial(iou_limit, area[number], bounds[number]),
        counts=counts,
    )


MASK = Similarity(_mask, needs="masks", is_iou=True)


# Most pairs of edges in an image that are compared exactly, which takes a few seconds.
_MOST_EDGE_PAIRS = 1 << 25


def _polygon(dataset: Dataset, _: Options) -> Comparison:
    segmentation, counts = packed_outlines(dataset)
    outlines = polygon_outlines(segmentation)
    counts["repaired"] = int(outlines.repaired.sum())
    counts["tangled"] = int(outlines.tangled.sum())
    is_mask = segmentation.kind == SegmentationKind.RLE
    counts["flat"] = int(((outlines.area <= 0) & ~is_mask & ~outlines.tangled).sum())
    areas: Compare = partial(polygons.polygon_iou, outlines)
    limit: Compare = partial(iou_limit, outlines.area, outlines.bounds)
    image = dataset.annotations.image
    if outlines.tangled.any():
        in_pixels = tangled_iou(segmentation, outlines, image, outlines.tangled)
        areas = _split(outlines.tangled, areas, in_pixels)
        limit = _split(outlines.tangled, limit, _one)
    measured = _bounded(areas, segmentation, outlines, image, counts)

    def exact(left: IndexArray, right: IndexArray) -> FloatArray:
        """Compare each two distinct outlines once if there are many pairs."""
        if len(left) < MANY_PAIRS:
            return measured(left, right)
        return of_distinct(measured, *distinct_outlines(segmentation, image))(left, right)

    if not is_mask.any():
        return Comparison(exact, outlines.bounds, limit, counts)
    drawn = np.flatnonzero(np.isin(image, image[is_mask]))
    size = dataset.image_size[image[drawn]].astype(np.int64)
    rles: list[dict[str, Any]] = [{} for _ in range(len(segmentation))]
    for place, rle in zip(
        drawn.tolist(), rasters.masks(segmentation.take(drawn), size), strict=True
    ):
        rles[place] = rle
    bounds = outlines.bounds.copy()
    bounds[drawn] = rasters.mask_bounds([rles[place] for place in drawn.tolist()])
    return Comparison(
        compare=_split(is_mask, exact, partial(rasters.mask_iou, rles)),
        bounds=bounds + ONE_PIXEL,
        limit=_split(is_mask, limit, _one),
        counts=counts,
    )


def _bounded(
    exact: Compare,
    segmentation: Segmentations,
    outlines: PreparedPolygons,
    image: IntArray,
    counts: Counter[str],
) -> Compare:
    """Return a comparison that uses pixels in images where exact areas would take too long."""
    is_box = polygons.is_box(outlines)
    of_boxes: Compare = partial(polygons.box_iou, outlines)

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        work = np.zeros(int(image[-1]) + 1)
        for part in blocks(len(left)):
            pairs = polygons.edge_pairs(outlines, left[part], right[part])
            work += sum_by(image[left[part]], pairs, len(work))
        drawn = (work > _MOST_EDGE_PAIRS)[image]
        if not drawn[left].any():
            return exact(left, right)
        met = np.zeros(len(image), np.bool_)
        met[left] = met[right] = True
        counts["tangled"] += int((met & drawn & ~outlines.tangled & ~is_box).sum())
        in_pixels = tangled_iou(segmentation, outlines, image, drawn)
        crowded = _split(~(drawn & is_box), of_boxes, in_pixels)
        return _split(drawn, exact, crowded)(left, right)

    return compare


def _one(left: IndexArray, _: IndexArray) -> FloatArray:
    return np.ones(len(left))


def _split(is_drawn: BoolArray, of_polygons: Compare, of_pixels: Compare) -> Compare:
    """Return a comparison that uses pixels for pairs with a drawn shape, and areas otherwise."""

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        drawn = is_drawn[left] | is_drawn[right]
        # Millions of pairs are not copied where all are alike.
        if not drawn.any():
            return of_polygons(left, right)
        if drawn.all():
            return of_pixels(left, right)
        result = np.zeros(len(left))
        result[~drawn] = of_polygons(left[~drawn], right[~drawn])
        result[drawn] = of_pixels(left[drawn], right[drawn])
        return result

    return compare


POLYGON = Similarity(_polygon, needs="outlines", is_iou=True)


# Larger canvases are refused, since a broken file could require any size.
_MAX_CANVAS = 1 << 27
# Places further away have no number.
_FARTHEST = 1 << 31
# Drawing so many pixels takes ten seconds.
_MOST_DRAWN = 1 << 31


def _raster(dataset: Dataset, draw: rasters.Draw) -> Comparison:
    segmentation, counts = packed_outlines(dataset)
    bounds = polygon_bounds(segmentation)
    first, number = distinct_outlines(segmentation, dataset.annotations.image)
    _check_canvases(dataset, bounds, first)
    sizes = dataset.image_size[dataset.annotations.image].tolist()
    none = np.zeros(0, np.int64)
    drawn = []
    for index in first.tolist():
        rings = [ring for ring in segmentation.rings(index) if len(ring) >= 3]
        width, height = sizes[index]
        drawn.append(rasters.drawn_runs(rings, (width, height), draw) if rings else (none, none))
    runs = pixel_runs(drawn)
    n_runs = np.where(runs.is_box, 0, np.diff(runs.offsets))

    def compare(left: IndexArray, right: IndexArray) -> FloatArray:
        a, b = number[left], number[right]
        return iou_of(runs.area[a], runs.area[b], shared_pixels(runs, a, b))

    # Boundary pixels count, so that shapes that only touch may share pixels.
    return Comparison(
        compare=of_distinct(bounded(compare, dataset, n_runs[number]), first, number),
        bounds=bounds + ONE_PIXEL,
        limit=partial(iou_limit, runs.area[number], runs.bounds[number]),
        counts=counts,
    )


def _check_canvases(dataset: Dataset, bounds: FloatArray, drawn: IndexArray) -> None:
    """Refuse polygons that would take too much memory or time to draw."""
    # The margin is included, as it takes memory even for flat polygons.
    sides = bounds[drawn, 2:] - bounds[drawn, :2] + 3
    n_pixels = sides.prod(axis=1)
    far = np.abs(bounds[drawn]).max(axis=1, initial=0) >= _FARTHEST
    problems = [
        f"{describe(dataset, int(drawn[place]))} spans {sides[place, 0] - 3:.0f} × "
        f"{sides[place, 1] - 3:.0f} px from {bounds[drawn[place], 0]:.0f}, "
        f"{bounds[drawn[place], 1]:.0f}; at most {_MAX_CANVAS:,} px are drawn, "
        f"within {_FARTHEST:,} px"
        for place in np.flatnonzero((n_pixels > _MAX_CANVAS) | far).tolist()
    ]
    if not problems:
        of_image = sum_by(dataset.annotations.image[drawn], n_pixels, len(dataset.image_names))
        problems = [
            f"image {dataset.image_names[image]!r}: its polygons span {of_image[image]:,.0f} px; "
            f"at most {_MOST_DRAWN:,} px are drawn in an image"
            for image in np.flatnonzero(of_image > _MOST_DRAWN).tolist()
        ]
    if problems:
        raise DatasetError(problems, "Compare with --similarity polygon, which needs no canvas.")


PIXEL = Similarity(
    lambda dataset, _: _raster(dataset, rasters.draw_inclusive), needs="polygons", is_iou=True
)
# No threads, since rasterio disables the warnings of all threads while it runs.
RASTER = Similarity(
    lambda dataset, options: _raster(
        dataset, partial(rasters.burn, all_touched=options.all_touched)
    ),
    needs="polygons",
    threads=False,
    is_iou=True,
)
