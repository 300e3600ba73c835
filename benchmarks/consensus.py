"""Compare `bboxqa consensus` with its peers, on data of several annotators whose truth is known.

    python benchmarks/consensus.py DATA --draws 20
    python benchmarks/consensus.py DATA --draws 200 --alone

DATA has NAME.json of several annotators and NAME_truth.json of the truth, for each data set. The
peers take part where they are installed: datumaro's IntersectMerge, which is CVAT's rule, and
ensemble-boxes (weighted boxes fusion), both with boxes clipped to the image and without classes.
A cell is a data set and a number of annotators, drawn at random for each image; images with fewer
are left out. Means have the standard errors of their draws, in which the images are the same.
`--alone` measures this rule only, at its defaults, and also prints the standard errors of its means
over the images, of 1,000 sets of images that are drawn with replacement.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace
from scipy.optimize import linear_sum_assignment

from bboxqa import read_coco
from bboxqa.geometry.boxes import corners
from bboxqa.pipelines.fusion import clipped_edges, consensus_of, quorums, votes_of

if TYPE_CHECKING:
    from bboxqa.model.annotations import Dataset

SETS = ("asthma_round1", "pedestrians", "crowd_boxes")
NUMBERS = (2, 3, 5, 7, None)
LINKS = (0.3, 0.4, 0.5)
QUORUMS = {
    "quorum": lambda asked: quorums(np.array([asked]), None)[0],
    "majority": lambda n: n // 2 + 1,
}
IOU = 0.5
# How many objects a person looks at first.
FIRST = 50

Fused = tuple[np.ndarray, np.ndarray]
"""Edges of boxes, (K, 4), and their votes, (K,)."""
Boxes = dict[str, np.ndarray]
"""Edges of boxes, by image."""
Cells = dict[str, dict[tuple[str, "int | None"], np.ndarray]]
"""F1 and IoU of each draw, (D, 2), by method and cell."""


def iou_table(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the IoU of each two boxes, (N, 4), (M, 4) → (N, M)."""
    low = np.maximum(left[:, None, :2], right[None, :, :2])
    high = np.minimum(left[:, None, 2:], right[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(2)
    sizes = [(each[:, 2:] - each[:, :2]).prod(1) for each in (left, right)]
    union = sizes[0][:, None] + sizes[1][None] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def matched(found: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the matched boxes of both, and their IoU of at least 0.5."""
    table = iou_table(found, truth)
    table[table < IOU] = 0
    one, other = linear_sum_assignment(-table)
    good = table[one, other] > 0
    return one[good], other[good], table[one[good], other[good]]


NONE = np.zeros((0, 4))


def score(found: Boxes, truth: Boxes, images: list[str]) -> tuple[float, float]:
    """Return F1 at IoU 0.5, and the mean IoU of matched boxes."""
    n_boxes, ious = 0, []
    for image in images:
        own, true = found.get(image, NONE), truth.get(image, NONE)
        n_boxes += len(own) + len(true)
        ious.append(matched(own, true)[2])
    every = np.concatenate(ious)
    return 2 * len(every) / n_boxes, float(every.mean())


def by_image(image: np.ndarray, edges: np.ndarray, names: tuple[str, ...]) -> Boxes:
    """Return edges by the name of their image."""
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    for place, box in zip(image.tolist(), edges, strict=True):
        found[names[place]].append(box)
    return {name: np.array(boxes) for name, boxes in found.items()}


def subset(data: Dataset, number: int | None, draw: int) -> tuple[Dataset, list[str]]:
    """Return the images that enough annotators were asked about, with some of these."""
    generator = np.random.default_rng([draw, number or 99])
    assigned = np.zeros_like(data.assigned)
    for image, asked in enumerate(data.assigned):
        who = np.flatnonzero(asked)
        if number is not None and len(who) >= number:
            who = generator.choice(who, number, replace=False)
        if number is None or len(who) >= number:
            assigned[image, who] = True
    of = data.annotations
    kept = np.flatnonzero(assigned[of.image, of.annotator])
    images = [data.image_names[place] for place in np.flatnonzero(assigned.any(1))]
    return replace(data, annotations=of.take(kept), assigned=assigned), images


Merge = "Callable[[list[np.ndarray], np.ndarray], Fused]"


def fused_boxes(link: float, drawn: list[np.ndarray], size: np.ndarray) -> Fused:
    """Return the weighted boxes fusion of the boxes of each annotator, (N, 4) edges."""
    from ensemble_boxes import weighted_boxes_fusion

    scale = np.tile(size, 2)
    parts = [(each / scale).tolist() for each in drawn]
    scores = [[1.0] * len(each) for each in parts]
    labels = [[0] * len(each) for each in parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        boxes, share, _ = weighted_boxes_fusion(parts, scores, labels, iou_thr=link)
    return boxes * scale, np.rint(share * len(drawn)).astype(int)


def intersected_boxes(link: float, drawn: list[np.ndarray], _: np.ndarray) -> Fused:
    """Return the boxes that datumaro's IntersectMerge chooses, with the size of their clusters."""
    from datumaro.components.annotation import Bbox
    from datumaro.components.annotations.merger import BboxMerger

    context = SimpleNamespace(get_any_label_name=lambda *_: "object")
    merger = BboxMerger(pairwise_dist=link, cluster_dist=link, context=context)
    sources = [
        [Bbox(left, top, right - left, bottom - top, label=0) for left, top, right, bottom in each]
        for each in drawn
    ]
    clusters = merger.match_annotations(sources)
    boxes = [merger._merge_cluster_shape_mean_box_nearest(each).get_bbox() for each in clusters]  # noqa: SLF001
    return corners(np.array(boxes).reshape(-1, 4)), np.array([len(each) for each in clusters])


def peers_of(link: float) -> dict[str, Merge]:
    """Return the peers that are installed."""
    known = {
        "ensemble_boxes": ("weighted boxes fusion", fused_boxes),
        "datumaro": ("IntersectMerge (CVAT)", intersected_boxes),
    }
    return {
        name: partial(merge, link) for module, (name, merge) in known.items() if find_spec(module)
    }


def merged_by_peer(data: Dataset, merge: Merge) -> dict[str, Fused]:
    """Return what a peer makes of each image."""
    of, (edges, _) = data.annotations, clipped_edges(data)
    has_area = (edges[:, 2:] > edges[:, :2]).all(1)
    found = {}
    for image in np.flatnonzero(data.assigned.any(1)).tolist():
        here = has_area & (of.image == image)
        drawn = [
            edges[here & (of.annotator == who)] for who in np.flatnonzero(data.assigned[image])
        ]
        found[data.image_names[image]] = (
            merge(drawn, data.image_size[image]) if here.any() else (NONE, np.zeros(0, int))
        )
    return found


def review_figures(data: Dataset, truth: Boxes) -> tuple[float, float]:
    """Return the precision of the first 50 objects of the review order, and average precision.

    An object is an error if it is kept without being in the truth, or dropped though it is.
    """
    objects = consensus_of(votes_of(data), LINKS[0], None)[0]
    edges, kept = corners(objects.bbox), objects.is_kept
    is_error = kept.copy()
    for image in np.unique(objects.image).tolist():
        true = truth.get(data.image_names[image], NONE)
        here = np.flatnonzero((objects.image == image) & kept)
        right, known, _ = matched(edges[here], true)
        is_error[here[right]] = False
        others = np.flatnonzero((objects.image == image) & ~kept)
        lost, _, _ = matched(edges[others], np.delete(true, known, 0))
        is_error[others[lost]] = True
    hits = is_error[objects.review_order]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(hits[:FIRST].mean()), float(precision[hits].mean())


def of_peer(data: Dataset, merge: Merge) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the image, the edges and the votes of each box that a peer makes."""
    of_image = merged_by_peer(data, merge)
    places = [place for place, name in enumerate(data.image_names) if name in of_image]
    boxes, votes = zip(*(of_image[data.image_names[place]] for place in places), strict=True)
    image = np.repeat(places, [len(each) for each in boxes])
    return image, np.concatenate(boxes), np.concatenate(votes)


def of_single(data: Dataset, truth: Boxes) -> tuple[float, float]:
    """Return F1 and IoU of single annotators, the mean weighted by their images."""
    of, found = data.annotations, []
    for who in np.flatnonzero(data.assigned.any(0)).tolist():
        rows = of.annotator == who
        own = by_image(of.image[rows], corners(of.bbox[rows]), data.image_names)
        images = [data.image_names[each] for each in np.flatnonzero(data.assigned[:, who])]
        if any(len(matched(own.get(i, NONE), truth.get(i, NONE))[0]) for i in images):
            found.append((*score(own, truth, images), len(images)))
    f1, iou, weight = np.array(found).T
    return float(np.average(f1, weights=weight)), float(np.average(iou, weights=weight))


def of_draw(
    data: Dataset, truth: Boxes, number: int | None, draw: int, *, alone: bool
) -> dict[str, tuple[float, float]]:
    """Return F1 and IoU of each method, and the figures of the review order, for one draw."""
    part, images = subset(data, number, draw)
    scores = {"review order": review_figures(part, truth)}
    votes = votes_of(part)
    for link in LINKS[:1] if alone else LINKS:
        found = consensus_of(votes, link, None)[0]
        fused = {"this rule": (found.image, corners(found.bbox), found.votes)}
        peers = {} if alone else peers_of(link)
        fused |= {name: of_peer(part, merge) for name, merge in peers.items()}
        for name, (image, edges, n_votes) in fused.items():
            asked = part.assigned.sum(1)[image]
            for rule, needed in QUORUMS.items():
                kept = n_votes >= needed(asked)
                boxes = by_image(image[kept], edges[kept], part.image_names)
                scores[f"{name}, link {link}, {rule}"] = score(boxes, truth, images)
    return scores | {"single annotators": of_single(part, truth)}


def errors_of_images(data: Dataset, truth: Boxes, draws: int) -> np.ndarray:
    """Return the standard errors of the means of F1 and IoU over the images, (2,)."""
    place, cells = {name: row for row, name in enumerate(data.image_names)}, []
    for number in NUMBERS:
        # The boxes, those that match, and the sum of their IoU.
        sums = np.zeros((len(place), 3))
        for draw in range(1 if number is None else draws):
            part, images = subset(data, number, draw)
            found = consensus_of(votes_of(part), LINKS[0], None)[0]
            kept = found.is_kept
            boxes = by_image(found.image[kept], corners(found.bbox[kept]), part.image_names)
            for image in images:
                own, true = boxes.get(image, NONE), truth.get(image, NONE)
                ious = matched(own, true)[2]
                sums[place[image]] += len(own) + len(true), len(ious), ious.sum()
        cells.append(sums)
    generator, means = np.random.default_rng(0), []
    for _ in range(1000):
        weight = np.bincount(generator.integers(0, len(place), len(place)), minlength=len(place))
        n_boxes, n_matched, total = np.transpose([weight @ sums for sums in cells])
        means.append((np.mean(2 * n_matched / n_boxes), np.mean(total / n_matched)))
    return np.std(means, axis=0)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--alone", action="store_true", help="only this rule, with its errors")
    arguments = parser.parse_args()
    cells: Cells = defaultdict(dict)
    for name in SETS:
        data = read_coco(arguments.data / f"{name}.json")
        known = read_coco(arguments.data / f"{name}_truth.json", min_annotators=1)
        truth = by_image(
            known.annotations.image, corners(known.annotations.bbox), known.image_names
        )
        for number in NUMBERS:
            draws = 1 if number is None else arguments.draws
            found = [
                of_draw(data, truth, number, draw, alone=arguments.alone) for draw in range(draws)
            ]
            for method in found[0]:
                cells[method][name, number] = np.array([each[method] for each in found])
        print(name, "measured", file=sys.stderr, flush=True)
        if arguments.alone:
            f1, iou = errors_of_images(data, truth, min(arguments.draws, 20))
            print(f"{name}: standard errors over images: F1 {f1:.4f}, IoU {iou:.4f}")
    show(cells)


def mean_and_error(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of figures over cells, and their standard errors over the draws."""
    variance = [each.var(0, ddof=1) / len(each) for each in cells if len(each) > 1]
    mean = np.mean([each.mean(0) for each in cells], 0)
    return mean, np.sqrt(np.sum(variance, 0)) / len(cells)


def show(cells: Cells) -> None:
    """Print the means of data sets and of all cells with their errors, and each cell."""
    print(f"| F1 / IoU | {' | '.join(SETS)} | all cells |\n| --- |{' ---: |' * (len(SETS) + 1)}")
    for method, of_cells in cells.items():
        parts = [[v for (name, _), v in of_cells.items() if name == each] for each in SETS]
        found = [np.transpose(mean_and_error(each)) for each in (*parts, [*of_cells.values()])]
        shown = (" / ".join(f"{mean:.4f} ± {error:.4f}" for mean, error in each) for each in found)
        print(f"| {method} | {' | '.join(shown)} |")
    own = cells["this rule, link 0.3, quorum"]
    fusion = cells.get("weighted boxes fusion, link 0.3, quorum", {})
    print("\n| cell | this rule | ahead of weighted boxes fusion |\n| --- | ---: | ---: |")
    for cell, found in own.items():
        f1, iou = found.mean(0)
        ahead = f"{f1 - fusion[cell].mean(0)[0]:+.4f}" if fusion else "–"
        print(f"| {cell[0]}, {cell[1] or 'all'} | {f1:.4f} / {iou:.4f} | {ahead} |")


if __name__ == "__main__":
    main()
