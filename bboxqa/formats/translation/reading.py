"""Reading a source of another tool, for rules, agreement and conversion alike."""

from pathlib import Path

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.memory import gc_paused
from bboxqa.core.text import count
from bboxqa.formats.document import STOPPING, RawDocument, Section
from bboxqa.formats.measured import measured
from bboxqa.formats.problems import problems_of
from bboxqa.formats.records import (
    ANNOTATOR_KEYS,
    LISTS,
    AnnotationFile,
    Category,
    ReadSettings,
    image_type,
)
from bboxqa.formats.scanner import read_bytes
from bboxqa.formats.source import members_of, size_and_digest
from bboxqa.formats.translation.collector import BrokenTextError, Collector, Translate, Wanted
from bboxqa.formats.translation.json_files import json_stop
from bboxqa.formats.translation.places import Rows, ToolOrigin
from bboxqa.model.annotations import Source


@gc_paused()
def _read(
    translate: Translate, path: Path, settings: ReadSettings
) -> tuple[RawDocument, ToolOrigin]:
    """Return the records of a source as a COCO document, and what was read of it besides."""
    rows = Rows(path, settings)
    in_full = settings.records or settings.on_records is not None
    needs_records = settings.keypoints or in_full
    needs_records |= not {*settings.keys} <= {*ANNOTATOR_KEYS}
    wanted = Wanted(
        outlines=settings.outlines or settings.rotated,
        keypoints=settings.keypoints,
        sessions="session" in settings.keys,
        in_full=in_full or settings.whole,
        progress=settings.progress,
        choices=settings.choices,
        add_boxes=rows.add_boxes if settings.whole or not needs_records else None,
    )
    found = Collector(rows.add, wanted)
    translate(path, found)
    found.flush()
    images, categories = found.images, found.categories
    if found.advice and not images and not any(each.code in STOPPING for each in found.defects):
        raise DatasetError([f"{path}: is {found.title} without images"], found.advice)
    document = RawDocument(str(path), b"", 0, {name: [] for name in LISTS})
    document.images, document.categories = images, categories
    document.annotations = rows.builder.done()
    sizes = (len(images), len(document.annotations), len(categories))
    document.sections = {name: Section(n=n) for name, n in zip(LISTS, sizes, strict=True)}
    document.spans = dict.fromkeys(LISTS, (0, 0, 0))
    document.origin = origin = ToolOrigin(path, found, rows)
    return document, origin


def read_document(translate: Translate, path: Path, settings: ReadSettings) -> RawDocument:
    """Return the records of a source as a COCO document; of broken JSON, its syntax errors."""
    try:
        document, _ = _read(translate, path, settings)
    except BrokenTextError:
        if path.suffix.lower() != ".json":
            raise
        return _broken(path)
    document.size, _ = size_and_digest(path, digest=False)
    return document


def read_file(translate: Translate, path: Path, options: ReadSettings) -> AnnotationFile:
    """Return the annotations of a source; see `bboxqa.formats.format.Reader`.

    Raises DatasetError with all defects that would falsify a result.
    """
    document, origin = _read(translate, path, options)
    found, rows = origin.found, origin.rows
    of = measured(document.annotations, options, boxes_are_outlines=True)
    problems = [f"{path}: {each.message}" for each in found.defects if each.code in STOPPING]
    problems += problems_of(str(path), document.annotations, of)
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))
    notes = [*found.notes]
    if rows.n_rotated and not (options.outlines or options.rotated):
        some = count(rows.n_rotated, "rotated box", "rotated boxes")
        notes.append(f"{some} compared by the upright bounds; --similarity obb compares them")
    has_masks = options.choices.mask is not None
    given = size_and_digest(path, digest=options.digest, pictures=has_masks)
    of_images = list[image_type(options.keys)]  # type: ignore[misc, valid-type]
    return AnnotationFile(
        Source(str(path), *given),
        msgspec.convert(document.images, of_images),
        msgspec.convert(document.categories, list[Category]),
        of.columns,
        (*notes, *of.notes),
        found.named_by,
        title=found.title,
        lists_images=found.lists_images,
        numbers_categories=True,
        own_ids=rows.shown_ids(),
        numbered_images=found.numbered_images,
        n_apart=rows.n_apart,
        repeat_notes=tuple(found.repeat_notes),
        nobody_notes=tuple(found.nobody_notes),
        lists=origin.lists() if options.records else None,
    )


def _broken(path: Path) -> RawDocument:
    """Return the syntax errors of a JSON file, without its content, which is not that of COCO."""
    (member,) = members_of(path)
    read = read_bytes(member.read(), str(path))
    broken, encoding = read.broken, read.encoding
    if not broken:
        # The readers of tools stop at text that is not that of COCO as well.
        encoding = ""
        try:
            msgspec.json.decode(read.text)
        except (msgspec.DecodeError, RecursionError) as error:
            broken = [json_stop(read.text, error)]
        except UnicodeDecodeError as error:
            broken = [(error.start, "a text that is not UTF-8")]
    return RawDocument(
        read.name, read.text, read.size, {}, encoding=encoding, not_utf8=read.not_utf8,
        broken=broken, stopped=True,
    )  # fmt: skip
