"""Label Studio's json as a format."""

import re
from pathlib import Path

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.formats.label_studio.task_records import TaskRecords
from bboxqa.formats.label_studio.tasks import tasks_of
from bboxqa.formats.translation.as_document import BrokenTextError
from bboxqa.formats.translation.as_file import translated_format
from bboxqa.formats.translation.members import HEAD, Member, is_archive, members_of
from bboxqa.formats.translation.translated import Add, Translated, Wanted

_HEAD = re.compile(
    rb'\s*(?:\[\s*)?\{(?!.*"images"\s*:)(?:'
    rb'(?=.*"(?:annotations|completions|predictions)"\s*:)'
    rb'(?=.*"(?:from_name|completed_by|result|data)"\s*:)'
    rb'|(?=.*"result"\s*:\s*\[)(?=.*"(?:from_name|original_width)"\s*:)'
    rb'|(?=.*"(?:rectangle|polygon|ellipse|brush|keypoint)labels"\s*:\s*\[)'
    rb'(?=.*"(?:original_width|annotation_id|lead_time)"\s*:))',
    re.DOTALL,
)


def _recognises(path: Path) -> bool:
    if is_archive(path):
        return _json_member(path) is not None
    with path.open("rb") as file:
        return _looks_right(file.read(HEAD))


def _looks_right(head: bytes) -> bool:
    plain = head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe")
    return plain.lstrip()[:1] in (b"[", b"{") and _HEAD.match(plain) is not None


def _json_member(path: Path) -> Member | None:
    """Return the first file of an archive that is Label Studio's."""
    try:
        members = members_of(path)
    except DatasetError:
        return None
    return next((each for each in members if _looks_right(each.head())), None)


def translate(path: Path, add: Add, wanted: Wanted) -> Translated:
    """Translate a file of Label Studio; see `bboxqa.formats.translation.translated.Translate`."""
    member = _json_member(path) if is_archive(path) else members_of(path)[0]
    if member is None:
        raise DatasetError([f"{path}: has no json of Label Studio inside"])
    text = member.text()
    records = TaskRecords(member, add, wanted)
    try:
        for number, task in enumerate(tasks_of(text)):
            records.add_task(task)
            if wanted.progress is not None and number % 100 == 0:
                wanted.progress(number, number + 1)
    except msgspec.DecodeError as error:
        raise BrokenTextError(
            [f"{member.shown}: is json of Label Studio that cannot be read: {error}"],
            "Export it again; the file may be cut off.",
            files=[path],
        ) from None
    return records.done()


LABEL_STUDIO = translated_format("label-studio", (".json",), _recognises, translate)
"""Label Studio's json, and JSON-MIN."""
