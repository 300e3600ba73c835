"""A project too large for one worker to be quick: its images are matched in parts by all."""

from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from bboxqa.config import AgreeSettings
from bboxqa.errors import BboxqaError
from bboxqa.geometry.checks import needs_segmentation
from bboxqa.model import Dataset
from bboxqa.shards import Matched, join_matched, match_images, split_images

__all__ = ["match_in_parts"]

# Annotations of a part: about half a second of work, against which sending it is little.
_BOXES, _OUTLINES = 200_000, 50_000
# Parts joined by one task.
_FAN_IN = 8


def match_in_parts(
    data: Dataset,
    settings: AgreeSettings,
    *,
    greedy: bool,
    progress: Any = None,
    part_size: int | None = None,
) -> Matched:
    """Match the images in parts on the workers of a cluster; called on one of them.

    The thread leaves the pool of its worker meanwhile, so that the parts find a place. A part
    goes from this worker straight to the one that matches it, and not through the scheduler.
    """
    size = part_size or (_OUTLINES if needs_segmentation(settings.similarity) else _BOXES)
    n_parts = -(-len(data.annotations) // size)
    parts = split_images(data, n_parts) if n_parts > 1 else []
    if len(parts) < 2:
        return match_images(data, settings, greedy=greedy, progress=progress)
    from distributed import worker_client

    match = partial(match_images, settings=settings, greedy=greedy)
    with worker_client() as client:
        # Names are no part of the work.
        sent = client.scatter([_bare(part) for part in parts], hash=False)
        del parts
        # Before other projects: what is begun is to end.
        submit = partial(client.submit, pure=False, priority=1)
        level = [submit(match, part, key=f"part-{uuid4().hex}") for part in sent]
        while len(level) > 1:
            level = [
                submit(join_matched, level[start : start + _FAN_IN], key=f"join-{uuid4().hex}")
                for start in range(0, len(level), _FAN_IN)
            ]
        try:
            matched: Matched = level[0].result()
        except BboxqaError:
            # All problems are told, with their names, as by a run in one part.
            return match_images(data, settings, greedy=greedy, progress=progress)
    return matched


def _bare(part: Dataset) -> Dataset:
    nameless = ("",) * len(part.image_names)
    return replace(part, image_names=nameless, sources=(), notes=(), attribution="")
