"""From files to agreement."""

from dataclasses import replace

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.types import Files, Progress
from bboxqa.model.results import AgreementResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.category_map import map_notes
from bboxqa.pipelines.read import read_for


def agree_files(
    source: Files,
    settings: AgreeSettings,
    *,
    memory: int | None = None,
    digest: bool = True,
    progress: Progress | None = None,
) -> AgreementResult:
    """Read files and measure how far their annotators agree, with checked settings.

    Files that would give a false result are refused with the findings of `validate`. With a map
    of categories that merges some, notes say what it changes.
    """
    data = read_for(source, settings, memory=memory, digest=digest, progress=progress)
    result = agree_with(data, settings, memory=memory, progress=progress)
    if not settings.category_map:
        return result
    own = msgspec.structs.replace(settings, category_map={})
    try:
        unmapped = read_for(source, own, memory=memory, digest=False, progress=progress)
    except DatasetError:
        # Only the map makes the categories of the files fit.
        return result
    if len(unmapped.category_names) == len(data.category_names):
        return result
    without = msgspec.structs.replace(own, bootstrap=0)
    before = agree_with(unmapped, without, memory=memory, with_chance=False, progress=progress)
    return replace(result, notes=(*result.notes, *map_notes(before, result)))
