"""The page of a consensus: pictures of what was outvoted, and of what is worth a look."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bboxqa.core.types import Progress
from bboxqa.model.consensus import ConsensusResult
from bboxqa.model.diagnosis import ALL_AGREE
from bboxqa.pipelines.consensus.written import reasons_of
from bboxqa.pipelines.diagnosis.review_document import drawn_shape
from bboxqa.pipelines.result_pages import PageImages, write_with_pixels
from bboxqa.report.consensus import CONSENSUS, consensus_page
from bboxqa.report.pages.page_file import PageTarget
from bboxqa.report.pages.pictures import INDEX, Pixels

_DOUBTS = ("outvoted", "near the quorum", "tie", "little overlap")


def write_consensus_page(
    result: ConsensusResult, target: PageTarget, next_step: str, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write the page of a consensus; return notes on its images."""
    found = result.found
    order = found.review_order
    shown = order[np.isin(order, found.to_review) | ~found.is_kept[order]]
    images = [*dict.fromkeys(found.image[shown].tolist())][: target.top]
    pictures = [_picture(result, image) for image in images]
    sizes = {each["file_name"]: (each["width"] or 0, each["height"] or 0) for each in pictures}
    inputs = [source.name for source in result.data.sources]

    def pages(pixels: Mapping[str, Pixels]) -> Iterator[tuple[str, str]]:
        yield INDEX, consensus_page(result, pictures, pixels, next_step)

    return write_with_pixels(target, PageImages(sizes, inputs, "latter"), pages, progress)


def _picture(result: ConsensusResult, image: int) -> dict[str, Any]:
    """Return an image in the form of the document "worst_images"."""
    data, found = result.data, result.found
    width, height = data.image_size[image].tolist()
    places = [*range(*np.searchsorted(found.image, [image, image + 1]).tolist())]
    reasons = zip(places, reasons_of(result, places), strict=True)
    return {
        "file_name": data.image_names[image],
        "width": width or None,
        "height": height or None,
        "asked": [data.annotator_names[each] for each in np.flatnonzero(data.assigned[image])],
        "cost": int((~found.is_kept[places]).sum()),
        "alpha": None,
        "objects": [_object(result, n, *each) for n, each in enumerate(reasons, 1)],
        "shapes": [*_shapes(result, image, {place: n for n, place in enumerate(places, 1)})],
    }


def _object(result: ConsensusResult, number: int, place: int, reason: str) -> dict[str, Any]:
    """Return an object with all kinds of doubt about it."""
    found = result.found
    is_tie, is_out = found.is_tie & found.is_kept, ~found.is_kept
    doubts = (is_out, found.is_near, is_tie, found.is_wide)
    kinds = [kind for kind, has in zip(_DOUBTS, doubts, strict=True) if has[place]]
    return {
        "object": number,
        "category": result.data.category_names[found.category[place]],
        "kind": (*kinds, ALL_AGREE)[0],
        "kinds": kinds,
        "reason": reason,
        "similarity": float(found.overlap[place] * found.asked[place] / found.votes[place]),
    }


def _shapes(
    result: ConsensusResult, image: int, numbers: Mapping[int, int]
) -> Iterator[dict[str, Any]]:
    """Yield what annotators drew in an image, and the kept objects."""
    data, found, of = result.data, result.found, result.data.annotations
    for row in range(*np.searchsorted(of.image, [image, image + 1]).tolist()):
        if result.of[row] >= 0:
            yield drawn_shape(data, numbers[int(result.of[row])], row)
    for place in [each for each in numbers if found.is_kept[each]]:
        rings = result.shapes[place].get("segmentation") if result.shapes else None
        yield {
            "annotation": "merged",
            "annotator": CONSENSUS,
            "category": data.category_names[found.category[place]],
            "object": numbers[place],
            "bbox": found.bbox[place].tolist(),
            "rings": rings if isinstance(rings, list) else [],
        }
