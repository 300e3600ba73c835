"""The page of a consensus: pictures of what was outvoted, and of what is worth a look."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.types import Progress
from bboxqa.model.consensus import ConsensusResult
from bboxqa.model.diagnosis import ALL_AGREE
from bboxqa.pipelines.consensus.review import reasons_of
from bboxqa.pipelines.diagnosis.review_document import shape_points, shape_rings
from bboxqa.pipelines.result_pages import PageImages, write_with_pixels
from bboxqa.report.consensus import CONSENSUS, consensus_page
from bboxqa.report.pages.page_file import PageTarget
from bboxqa.report.pages.pictures import INDEX, Pixels


def write_consensus_page(
    result: ConsensusResult,
    target: PageTarget,
    next_step: str,
    progress: Progress | None = None,
) -> tuple[str, ...]:
    """Write the page of a consensus; return notes on its images."""
    pictures = [*pictures_of(result, target.top)]
    sizes = {each["file_name"]: (each["width"] or 0, each["height"] or 0) for each in pictures}
    inputs = [source.name for source in result.data.sources]

    def pages(pixels: Mapping[str, Pixels]) -> Iterator[tuple[str, str]]:
        yield INDEX, consensus_page(result, pictures, pixels, next_step)

    return write_with_pixels(target, PageImages(sizes, inputs, "latter"), pages, progress)


def pictures_of(result: ConsensusResult, most: int) -> Iterator[dict[str, Any]]:
    """Yield images with objects that were dropped or are to be reviewed, in the order of review."""
    found, data = result.found, result.data
    order = found.review_order
    shown = np.isin(order, found.to_review) | ~found.is_kept[order]
    images = [*dict.fromkeys(found.image[order[shown]].tolist())][:most]
    members = _by_image(data.annotations.image, images)
    for image in images:
        width, height = data.image_size[image].tolist()
        places = np.flatnonzero(found.image == image)
        asked = [data.annotator_names[each] for each in np.flatnonzero(data.assigned[image])]
        yield {
            "file_name": data.image_names[image],
            "width": width or None,
            "height": height or None,
            "asked": asked,
            "cost": int((~found.is_kept[places]).sum()),
            "alpha": None,
            "objects": [*_objects(result, places)],
            "shapes": [*_shapes(result, members[image], places)],
        }


def _by_image(image: Any, images: list[int]) -> dict[int, IndexArray]:
    """Return the annotations of some images, which are sorted by image."""
    low, high = (np.searchsorted(image, images, side) for side in ("left", "right"))
    return {
        each: np.arange(first, last)
        for each, first, last in zip(images, low.tolist(), high.tolist(), strict=True)
    }


def _objects(result: ConsensusResult, places: IndexArray) -> Iterator[dict[str, Any]]:
    """Yield the objects of an image, numbered from 1."""
    found = result.found
    kinds_of = {
        "outvoted": ~found.is_kept,
        "near the quorum": found.is_near,
        "tie": found.is_tie & found.is_kept,
        "little overlap": found.is_wide,
    }
    reasons = reasons_of(result, places.tolist())
    for number, (place, reason) in enumerate(zip(places.tolist(), reasons, strict=True), 1):
        kinds = [kind for kind, has in kinds_of.items() if has[place]]
        votes, asked = int(found.votes[place]), int(found.asked[place])
        yield {
            "object": number,
            "category": result.data.category_names[found.category[place]],
            "kind": kinds[0] if kinds else ALL_AGREE,
            "kinds": kinds,
            "reason": reason or f"outvoted: drawn by {votes} of {asked}",
            "similarity": float(found.overlap[place]) * asked / votes,
        }


def _shapes(
    result: ConsensusResult, rows: IndexArray, places: IndexArray
) -> Iterator[dict[str, Any]]:
    """Yield what annotators drew in an image, and the merged boxes of kept objects."""
    data, found, of = result.data, result.found, result.data.annotations
    number = {place: at for at, place in enumerate(places.tolist(), 1)}
    for row in rows[result.of[rows] >= 0].tolist():
        yield {
            "annotation": of.shown_ids([row])[0],
            "annotator": data.annotator_names[of.annotator[row]],
            "category": data.category_names[of.category[row]],
            "object": number[int(result.of[row])],
            "bbox": of.bbox[row].tolist(),
            **shape_rings(of, row),
            **shape_points(data, row),
        }
    for place in places[found.is_kept[places]].tolist():
        rings = result.shapes[place].get("segmentation") if result.shapes else None
        yield {
            "annotation": "merged",
            "annotator": CONSENSUS,
            "category": data.category_names[found.category[place]],
            "object": number[place],
            "bbox": found.bbox[place].tolist(),
            **({"rings": rings} if isinstance(rings, list) else {}),
        }
