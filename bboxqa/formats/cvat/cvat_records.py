"""From files of CVAT to COCO records."""

from collections import Counter
from collections.abc import Sequence

from bboxqa.core.errors import DatasetError
from bboxqa.formats.cvat.cvat_notes import named_by, notes_of
from bboxqa.formats.cvat.file_records import FileRecords
from bboxqa.formats.cvat.plain_runs import PlainRun
from bboxqa.formats.cvat.run_records import add_run
from bboxqa.formats.cvat.xml_elements import elements_of
from bboxqa.formats.translation.collector import Collector
from bboxqa.formats.translation.members import Member
from bboxqa.formats.translation.translated import Add, Record, Translated, Wanted

TITLE = "CVAT XML"


def translate_members(members: Sequence[Member], add: Add, wanted: Wanted) -> Translated:
    """Translate files of CVAT.

    Raises BrokenTextError if one is no XML, and DatasetError if there is no image in them.
    """
    into = Collector(TITLE, add)
    tally: Counter[str] = Counter()
    images: dict[tuple[str, str], Record] = {}
    for member in members:
        records = FileRecords(member, into, tally, images, wanted)
        as_columns = wanted.add_boxes
        for found in elements_of(member, wanted.progress, runs=as_columns is not None):
            if not isinstance(found, PlainRun):
                records.add(found)
            elif as_columns is not None:
                add_run(records, found, as_columns)
        records.end()
    if not images:
        raise DatasetError(
            [f"{members[0].shown}: has no image, track or frames"],
            "Export the task from CVAT again.",
        )
    _name_images(images)
    return into.done([*notes_of(tally)], named_by(tally))


def _name_images(images: dict[tuple[str, str], Record]) -> None:
    """Name images as in CVAT, with the subset where several have images of one name."""
    times = Counter(name for _, name in images)
    for (subset, name), record in images.items():
        record["file_name"] = f"{subset}/{name}" if times[name] > 1 and subset else name
