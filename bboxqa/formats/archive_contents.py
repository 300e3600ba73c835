"""The files of an archive that are sources of their own, as those of a folder are."""

from pathlib import Path

from bboxqa.formats.box_tables.box_table import BOX_TABLE
from bboxqa.formats.coco.archive import COCO_ARCHIVE
from bboxqa.formats.datumaro.datumaro import DATUMARO
from bboxqa.formats.datumaro.datumaro_heads import are_subsets
from bboxqa.formats.label_studio.studio import LABEL_STUDIO
from bboxqa.formats.registry import format_inside, format_of
from bboxqa.formats.translation.heads import head_of, is_archive
from bboxqa.formats.translation.members import members_of, members_with
from bboxqa.formats.translation.picture_sizes import is_picture

# Formats of one file for all images. Several files of CVAT are jobs, which its reader joins.
_OF_FILES = (COCO_ARCHIVE, LABEL_STUDIO, DATUMARO, BOX_TABLE)


def parts_of(path: Path) -> list[Path]:
    """Return the sources in a file: itself, or the paths of several files inside an archive.

    Raises DatasetError if another JSON file inside cannot be read, which may be one of them.
    """
    if not path.is_file() or not is_archive(head_of(path)):
        return [path]
    found = format_of(path)
    if found not in _OF_FILES:
        return [path]
    members = [each for each in members_of(path) if each.name and not is_picture(each.name)]
    read = [each for each in members if format_inside(path / each.name) is found]
    known = {each.name for each in read}
    for other in members_with(members, ".json"):
        if other.name not in known:
            # Archives have a checksum of all the content of a file.
            for _ in other.chunks():
                pass
    is_one = len(read) < 2 or (found is DATUMARO and are_subsets([each.name for each in read]))
    return [path] if is_one else [path / each.name for each in read]
