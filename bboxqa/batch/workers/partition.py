"""A large project counted in parts of its images, on all workers of a cluster."""

from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from bboxqa.core.errors import BboxqaError
from bboxqa.geometry.similarities.registry import needs_outlines
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.counting import (
    AgreementCounts,
    ImagePart,
    count_part,
    join_counted,
    split_images,
)

# Annotations per part: half a second of work, much longer than sending them.
_BOXES, _OUTLINES = 200_000, 50_000
# The number of parts that one task joins.
_FAN_IN = 8


def count_on_cluster(
    whole: ImagePart,
    settings: AgreeSettings,
    *,
    greedy: bool,
    progress: Any = None,
    part_size: int | None = None,
) -> AgreementCounts:
    """Count agreement in parts on the workers of a cluster; called on one of them.

    Meanwhile the thread leaves the pool of its worker, so that parts can run there. Parts are sent
    directly to the workers that match them, not through the scheduler.
    """
    count = partial(count_part, settings=settings, greedy=greedy)
    size = part_size or (_OUTLINES if needs_outlines(settings.similarity) else _BOXES)
    n_parts = -(-len(whole.data.annotations) // size)
    # Names are not sent, as counting does not need them.
    parts = list(map(_bare, split_images(whole, n_parts))) if n_parts > 1 else []
    if len(parts) < 2:
        return count(whole, progress=progress)
    from distributed import worker_client

    with worker_client() as client:
        sent = client.scatter(parts, hash=False)
        del parts
        # Started projects have priority over others.
        submit = partial(client.submit, pure=False, priority=1)
        level = [submit(count, part, key=f"part-{uuid4().hex}") for part in sent]
        while len(level) > 1:
            level = [
                submit(join_counted, level[start : start + _FAN_IN], key=f"join-{uuid4().hex}")
                for start in range(0, len(level), _FAN_IN)
            ]
        try:
            counted: AgreementCounts = level[0].result()
        except BboxqaError:
            # In one part, the error has all problems and the names of images.
            return count(whole, progress=progress)
    return counted


def _bare(part: ImagePart) -> ImagePart:
    nameless = ("",) * len(part.data.image_names)
    data = replace(part.data, image_names=nameless, sources=(), notes=(), attribution="")
    return replace(part, data=data)
