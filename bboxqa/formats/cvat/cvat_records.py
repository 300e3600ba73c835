"""Translating CVAT files to COCO records."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bboxqa.core.errors import DatasetError
from bboxqa.formats.cvat.cvat_elements import elements_of
from bboxqa.formats.cvat.cvat_notes import named_by, notes_of, repeat_notes
from bboxqa.formats.cvat.file_records import FileRecords, Gathered
from bboxqa.formats.cvat.frame_limits import check_frames
from bboxqa.formats.cvat.plain_runs import PlainRun, PlainRuns
from bboxqa.formats.cvat.run_records import add_run
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.member import Member
from bboxqa.formats.translation.translated import Add, Record, Translated, Wanted

TITLE = "CVAT XML"


def translate_member(
    member: Member, n_beside: Sequence[int], add: Add, wanted: Wanted
) -> Translated:
    """Translate a CVAT file; `n_beside` are the frames of each file in its archive.

    Raises BrokenTextError if the file is not XML, and DatasetError if it has no images.
    """
    gathered = Gathered(Collector(TITLE, add), wanted)
    records = FileRecords(member.name, gathered)
    as_columns = wanted.add_boxes
    runs = None if as_columns is None else PlainRuns(in_full=wanted.in_full)
    for found in elements_of(member, wanted.progress, runs=runs):
        if not isinstance(found, PlainRun):
            records.add(found)
        elif as_columns is not None:
            add_run(records, found, as_columns)
    check_frames(member, records.n_frames(), records.n_shapes, n_beside)
    records.end()
    if not gathered.images:
        raise DatasetError(
            [f"{member.shown}: has no image, track or frames"], "Export the task from CVAT again."
        )
    _name_images(gathered.images)
    tally = gathered.tally
    whole = gathered.into.done([*notes_of(tally)], named_by(tally), [*repeat_notes(tally)])
    return replace(whole, task_of_frames=records.task_of_frames())


def _name_images(images: dict[tuple[str, str], Record]) -> None:
    """Name images as in CVAT, with the subset if several subsets have an image of that name."""
    times = Counter(name for _, name in images)
    for (subset, name), record in images.items():
        record["file_name"] = f"{subset}/{name}" if times[name] > 1 and subset else name
