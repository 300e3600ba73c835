"""The registry of formats and their writers, and what formats recognise."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from os.path import realpath
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bboxqa.core.errors import ConfigError, DatasetError
from bboxqa.core.file_names import is_split
from bboxqa.core.plugins import plugins
from bboxqa.core.text import unknown_name
from bboxqa.formats.coco.reader import COCO, is_surely_coco, packed_json
from bboxqa.formats.document import RawDocument
from bboxqa.formats.format import Format, Recognises, translated_format
from bboxqa.formats.heads import TABLES, begins, kind_in, plain_head
from bboxqa.formats.label_folders import LabelFolders, files_by_folder, holds_masks, people_of_masks
from bboxqa.formats.member import READABLE, is_picture
from bboxqa.formats.opening import results_among
from bboxqa.formats.records import WHOLE
from bboxqa.formats.scanner import begins_with_results, may_be_rows
from bboxqa.formats.source import SourcePath
from bboxqa.model.annotations import NO_CHOICES, Choices

if TYPE_CHECKING:
    from bboxqa.formats.writing.content import Writer

GROUP = "bboxqa.formats"
# The numbers of files examined in a folder of labels and in all, and in a folder.
_LOOKED_AT, _MOST, _SAMPLE = 50, 1000, 5
_OF_MANY = (".json", ".xml", *TABLES)


def _json_in(folder: SourcePath) -> list[SourcePath]:
    """Return the JSON files directly in a folder; none if it cannot be read."""
    return [folder / each for each in folder.names.files if each.lower().endswith(".json")]


def _all_begin(kind: str, folder: SourcePath) -> bool:
    """Return whether a folder has JSON files directly inside, and a few of them are of a kind."""
    files = _json_in(folder)[:_SAMPLE]
    return bool(files) and all(begins(kind, each.head) for each in files)


def _is_datumaro(folder: SourcePath) -> bool:
    """Return whether a folder is one data set; files not named as subsets belong to annotators."""
    if _all_begin("Datumaro", folder / "annotations"):
        return True
    subsets = (each.stem == "default" or is_split(each.stem) for each in _json_in(folder))
    return all(subsets) and _all_begin("Datumaro", folder)


def _is_supervisely(folder: SourcePath) -> bool:
    """Return whether a folder is a project, a dataset, or the annotations of a dataset."""
    # Annotations in `ann` and in a folder beside it are those of two people.
    own = folder / "ann"
    if _all_begin("Supervisely", own):
        return not any(_all_begin("Supervisely", each) for each in folder.folders if each != own)
    named = (each for each in _json_in(folder) if each.name.lower() == "meta.json")
    is_meta = any(begins("Supervisely meta", each.head) for each in named)
    return is_meta or _all_begin("Supervisely", folder)


def _is_sagemaker(folder: SourcePath) -> bool:
    """Return whether a folder has the answers of workers, as Ground Truth arranges them."""
    inside = (folder, folder / "worker-response", folder / "annotations/worker-response")
    homes = [each for each in inside if "iteration-1" in each.names.folders]
    homes += [folder] if folder.name.startswith("iteration-") else []
    below = (each for home in homes for each, _ in files_by_folder(home))
    first = next((file for each in below for file in _json_in(each)), None)
    return first is not None and begins("SageMaker", first.head)


def _has_boxes(source: SourcePath, said: Mapping[str, str] = MappingProxyType({})) -> bool:
    """Return whether a table has columns of boxes; True for any if the user names its columns."""
    name, head = source.text_head
    if not name.lower().endswith(TABLES):
        plain = plain_head(head)
        if not may_be_rows(plain) or kind_in("json", plain) is not None:
            return False
    from bboxqa.formats.box_tables.columns import columns_of
    from bboxqa.formats.box_tables.rows import header_in

    header = header_in(source.members[0])
    return bool(header) and (bool(said) or not columns_of(header, {}).problem)


def _begins(kind: str, source: SourcePath) -> bool:
    return begins(kind, source.text_head[1])


# The name, the reader, the suffixes, how files begin, and which folders are one source.
_TOOLS: tuple[
    tuple[
        str, str, tuple[str, ...], str | Recognises | None, LabelFolders | Recognises | None
    ], ...
] = (
    ("label-studio", "label_studio.reader:translate", (".json",), "Label Studio", None),
    ("cvat", "cvat.reader:translate", (".xml",), "CVAT", None),
    ("supervisely", "supervisely:translate", (".json",), "Supervisely", _is_supervisely),
    ("dota", "dota:translate", (), None, LabelFolders(".txt", "DOTA")),
    ("yolo", "yolo:translate", (), None, LabelFolders(".txt", "YOLO")),
    ("via", "via:translate", (".json", ".csv"), "VIA", None),
    ("darwin", "darwin:translate", (".json",), "Darwin", LabelFolders(".json", "Darwin")),
    ("datumaro", "datumaro:translate", (".json",), "Datumaro", _is_datumaro),
    ("sagemaker", "services:sagemaker", (".manifest", ".json", ".jsonl"), "SageMaker",
     _is_sagemaker),
    ("labelbox", "services:labelbox", (".ndjson", ".json", ".jsonl"), "Labelbox", None),
    ("zooniverse", "services:zooniverse", (".csv",), "Zooniverse", None),
    ("table", "box_tables.rows:translate", TABLES, _has_boxes, None),
    ("voc", "voc:translate", (), "VOC", LabelFolders(".xml", "VOC")),
    ("labelme", "labelme:translate", (), "LabelMe", LabelFolders(".json", "LabelMe")),
)  # fmt: skip
_BUILT_IN = (
    COCO,
    *(
        translated_format(
            name,
            suffixes,
            partial(_begins, head) if isinstance(head, str) else head,
            f"bboxqa.formats.{place}",
            recognises_folder=of.is_one_source if isinstance(of, LabelFolders) else of,
            folders_in_parts=of.folders_in_parts if isinstance(of, LabelFolders) else None,
        )
        for name, place, suffixes, head, of in _TOOLS
    ),
)
# Grey pictures look like masks, so that only what the user says recognises them.
_MASKS = [
    translated_format("masks", (), None, "bboxqa.formats.masks:translate",
                      folders_in_parts=partial(people_of_masks, by_image=by_image))
    for by_image in (False, True)
]  # fmt: skip
FORMATS: dict[str, Format] = {each.name: each for each in _BUILT_IN}
OF_ONE_IMAGE = tuple(FORMATS[name] for name in ("darwin", "voc", "labelme"))
_DEPTH = 12
# What columns say of files that are no tables.
_COLUMNS = {"label-studio": "image", "via": "category"}


def names() -> tuple[str, ...]:
    """Return the names of all formats, with formats of other packages last."""
    return tuple(dict.fromkeys((*FORMATS, *plugins(GROUP))))


def format_of(path: Path, choices: Choices = NO_CHOICES) -> Format:
    """Return the format of a file or folder; COCO if no format recognises it."""
    found = formats_of(path, choices)
    return next((e for e in found if e.name == choices.from_format), (*found, COCO)[0])


def is_results_list(path: Path, choices: Choices) -> bool:
    """Return whether COCO JSON, maybe in an archive, is a list of results by its beginning."""
    if format_of(path, choices) is not COCO:
        return False
    packed = packed_json(path)
    return begins_with_results(SourcePath.at(path).head if packed is None else packed.head())


def document_of(path: Path, choices: Choices) -> RawDocument | None:
    """Return the records of a source with their places; None if its format is not checked."""
    source = SourcePath.at(path)
    read = format_of(source, choices).document
    return None if read is None else read(source, replace(WHOLE, choices=choices))


def formats_of(path: Path, choices: Choices = NO_CHOICES) -> list[Format]:
    """Return the formats that are most sure of a file or folder; several if it holds several."""
    source = SourcePath.at(path)
    if choices.mask and source.once(holds_masks):
        return [_MASKS[choices.mask.startswith("objects")]]
    found = source.once(_recognised)
    if source.is_folder:
        return found or source.once(_formats_inside)
    is_table = found in ([], [COCO]) and bool(choices.columns) and not is_surely_coco(source)
    return [FORMATS["table"]] if is_table and _has_boxes(source, choices.columns) else found


def refuse_idle_columns(files: Iterable[Path], choices: Choices) -> None:
    """Refuse columns that no file has, by their formats; those of other packages may have any."""
    names = {format_of(each, choices).name for each in files}
    idle = choices.columns.keys() - {_COLUMNS.get(name) for name in names}
    if idle and names <= {*FORMATS} - {"table"}:
        problem = f"{min(idle)}=… has no effect: {', '.join(sorted(names))} has no such column"
        raise ConfigError(problem, "columns")


def _recognised(source: SourcePath) -> list[Format]:
    """Return the formats that are most sure of a file, or for which a folder is one source."""
    if not source.is_folder and is_surely_coco(source):
        return [COCO]
    if source.archive is None and not source.exists():
        return []
    found: dict[Format, int] = {}
    for each in all_formats():
        recognises = each.recognises_folder if source.is_folder else each.recognises
        # Formats of other packages open files themselves. Reading a file reports an error.
        with suppress(OSError):
            answer = recognises(source) if recognises is not None else 0
            found[each] = 2 if answer is True else int(answer)
    most = max(found.values(), default=0)
    return [each for each, value in found.items() if value == most and most]


def is_source(folder: Path) -> bool:
    """Return whether a folder is one source, rather than a folder of several sources."""
    return bool(SourcePath.at(folder).once(_recognised))


def _formats_inside(folder: SourcePath) -> list[Format]:
    """Return the formats of what is in an archive, or the common one of the sources in a folder."""
    try:
        sources, _ = folder.once(sources_below)
    except DatasetError:
        return []
    found = dict.fromkeys(each for source in sources for each in source.once(_recognised))
    is_common = len(found) == 1 and all(each.is_dir() for each in sources)
    return [*found] if is_common or not folder.is_dir() else []


def sources_below(folder: SourcePath) -> tuple[list[SourcePath], list[SourcePath]]:
    """Return the sources in a folder or an archive, sorted, and the files that are none.

    Pictures, results of bboxqa and what lies in folders of labels are left out, but for files of
    other formats there.
    """
    folders, files, root = list[SourcePath](), list[SourcePath](), realpath(folder)
    waiting: list[tuple[SourcePath, int, tuple[Format, ...]]] = [(folder, _DEPTH, ())]
    beside = list[tuple[SourcePath, tuple[Format, ...]]]()
    while waiting:
        here, depth, known = waiting.pop()
        if here.names.problem:
            # Passing over it would lose annotations.
            raise DatasetError([f"{here}: cannot be read: {here.names.problem}"], READABLE)
        left_out = results_among(here.names.files)
        named = [each for each in here.names.files if not is_picture(each) and each not in left_out]
        if not known and (own := here.once(_recognised)):
            folders.append(here)
            known = (COCO, *own, *OF_ONE_IMAGE)
        if known:
            others = [here / each for each in named if each.lower().endswith(_OF_MANY)]
            beside += [(each, known) for each in others[:_LOOKED_AT]]
        else:
            files += [here / each for each in named]
        below = [e for e in here.folders if e.name not in here.names.links or _is_new(e, root)]
        waiting += [(each, depth - 1, known) for each in reversed(below) if depth]
    for each, known in beside[:_MOST]:
        # Files of another format count, maybe of one that is not read; readers of labels name files
        # of CreateML.
        is_other = format_of(each) not in known or is_surely_coco(each)
        if formats_of(each) in ([], [COCO]) and not is_other:
            is_tool = kind_in("json", each.head) not in (None, "CreateML", "Hugging Face")
            is_other = is_tool or begins_with_results(each.head)
        files += [each] * is_other
    ends, found, unsure, others = suffixes(), folders[:], list[SourcePath](), list[SourcePath]()
    for each in files:
        formats = formats_of(each) if each.name.lower().endswith(ends) else []
        is_sure = formats not in ([], [COCO]) or (bool(formats) and is_surely_coco(each))
        # Any JSON may be COCO.
        may_be = bool(formats) and each.name.lower().endswith(".json")
        (found if is_sure else unsure if may_be else others).append(each)
    if folders or (found and not folder.is_dir()):
        # Beside other sources, JSON that is not COCO is empty, cut off, or about something else.
        return sorted(found), others + unsure
    return sorted(found + unsure), others


def _is_new(link: Path, root: str) -> bool:
    """Return whether a link leads neither to what is read anyway, nor to a folder around it."""
    to = Path(realpath(link))
    return not (to.is_relative_to(root) or Path(root).is_relative_to(to))


def all_formats() -> Iterator[Format]:
    """Yield the built-in formats, and those of other packages."""
    yield from FORMATS.values()
    for name, plugin in plugins(GROUP).items():
        if name in FORMATS:
            plugin.refuse_built_in()
        yield plugin.load(Format)


def suffixes() -> tuple[str, ...]:
    """Return the distinct suffixes of all formats."""
    return tuple(dict.fromkeys(suffix for each in all_formats() for suffix in each.suffixes))


_WRITERS = {
    "coco": "coco.writer:COCO_JSON",
    "label-studio": "label_studio.tasks:STUDIO_JSON",
    "csv": "box_tables.rows:CSV_FILE",
    "parquet": "box_tables.rows:PARQUET_FILE",
    "cvat": "cvat.writer:CVAT_XML",
    "yolo": "yolo:YOLO",
    "yolo-segment": "yolo:YOLO_SEGMENT",
    "yolo-obb": "yolo:YOLO_OBB",
    "yolo-pose": "yolo:YOLO_POSE",
    "dota": "dota:DOTA",
    "voc": "voc:VOC",
    "labelme": "labelme:LABELME",
    "masks": "masks:MASKS",
}


def writer_names() -> tuple[str, ...]:
    """Return the names of all formats that can be written."""
    return tuple(_WRITERS)


def writer(name: str) -> "Writer":
    """Return the writer of this name; raises ConfigError if there is none."""
    if name not in _WRITERS:
        raise ConfigError(unknown_name(name, writer_names()), "to")
    found: Writer = resolve_name(f"bboxqa.formats.{_WRITERS[name]}")
    return found
