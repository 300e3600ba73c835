"""Writing a consensus: the kept objects in any format, and the annotations that were dropped."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bboxqa.core.errors import OutputError
from bboxqa.core.files import refuse_replacing, write_atomically
from bboxqa.core.types import Files
from bboxqa.formats.choices import given
from bboxqa.formats.sources import files_read, paths_in
from bboxqa.formats.writers import writer
from bboxqa.model.consensus import ConsensusResult
from bboxqa.model.settings import AgreeSettings
from bboxqa.pipelines.consensus.consensus import OWN_KEYS, Ids, coco_document
from bboxqa.pipelines.convert import Target, check_output, convert_with, refuse_inputs
from bboxqa.report.encodings import csv_line

MERGED = "merged.json"
"""The name of the output in the folder of a project."""
DROPPED = "dropped.csv"
"""The name of the table of dropped annotations, beside the output."""


def check_targets(target: Target, source: Files) -> None:
    """Refuse outputs that must not be written, before anything is read."""
    refuse_inputs(target.path, source)
    check_output(target.path, writer(target.to), force=target.force)
    table = target.path.with_name(DROPPED)
    if table == target.path:
        raise OutputError(f"{table}: is where dropped annotations are listed; name another output")
    refuse_replacing([table], files_read([*map(Path, paths_in(source))]))
    if table.exists() and not target.force:
        raise OutputError(f"{table}: already exists; name another folder, or add --force")


def write_consensus(
    result: ConsensusResult, ids: Ids, target: Target
) -> tuple[list[Path], list[str]]:
    """Write the kept objects, and the table of dropped annotations beside them.

    Return the paths, and notes on what the format could not hold.
    """
    document, notes, table = coco_document(result, ids), list[str](), result.dropped
    target.path.parent.mkdir(parents=True, exist_ok=True)
    if target.to == "coco":
        write_atomically(target.path, msgspec.json.encode(document))
    else:
        notes = _convert(document, target)
    text = "".join(map(csv_line, ([*table.columns], *table.rows())))
    write_atomically(target.path.with_name(DROPPED), text.encode("utf-8", "replace"))
    return [target.path, target.path.with_name(DROPPED)], notes


def _convert(document: dict[str, Any], target: Target) -> list[str]:
    """Write the annotations in another format, without the keys of the consensus."""
    for each in document["annotations"]:
        for key in OWN_KEYS:
            del each[key]
    with TemporaryDirectory() as place:
        merged = Path(place, "consensus.json")
        merged.write_bytes(msgspec.json.encode(document))
        found = convert_with(merged, target, AgreeSettings(), given())
    lost, title = ", ".join(OWN_KEYS), writer(target.to).title
    left = f"left out: {lost} of annotations, which --to coco keeps: {title} has no place for them"
    return [*found.notes, *(f"{each.how}: {each}" for each in found.losses), left]
