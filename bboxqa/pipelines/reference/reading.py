"""Reading the reference that a user names: an annotator or a file."""

from dataclasses import replace
from pathlib import Path

import msgspec

from bboxqa.core.types import Progress
from bboxqa.formats.dataset.left_out_categories import left_out_by
from bboxqa.formats.dataset.people.pseudonymous import without_later_people
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.read import read_for
from bboxqa.pipelines.reference.joined import unknown_reference


def read_reference(
    reference: str,
    data: Dataset,
    settings: AgreeSettings,
    *,
    digest: bool = True,
    pseudonyms: Path | None = None,
    progress: Progress | None = None,
) -> str | Dataset:
    """Return `name` if it is an annotator, otherwise the data set of a file or folder.

    Raises ConfigError if it is neither. Raises DatasetError if the file cannot be measured.
    """
    if reference in data.annotator_names:
        return reference
    if not Path(reference).exists():
        raise unknown_reference(data, reference)
    # These settings apply to the files of the annotators only.
    own = msgspec.structs.replace(
        settings,
        annotator_key=None,
        attribution=None,
        filter=None,
        category_map=dict.fromkeys(left_out_by(settings.category_map), ""),
        session_key=None,
        time_key=None,
        tracks=False,
    )
    found = read_for(
        reference, own, digest=digest, min_annotators=1, pseudonyms=pseudonyms,
        progress=progress,
    )  # fmt: skip
    if pseudonyms is not None:
        found = without_later_people(found, pseudonyms, Path(reference))
    names = tuple(settings.category_map.get(name) or name for name in found.category_names)
    return replace(found, category_names=names)
