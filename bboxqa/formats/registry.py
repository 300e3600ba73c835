"""The registry of formats: to add one, write a module and add a line here."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

from bboxqa.core.file_names import folders_in
from bboxqa.core.files import Identity, identity_of
from bboxqa.core.plugins import plugins
from bboxqa.formats.coco.reader import COCO, COCO_ARCHIVE, is_surely_coco
from bboxqa.formats.document import RawDocument
from bboxqa.formats.format import Format, translated_format
from bboxqa.formats.heads import (
    TABLES,
    begins,
    is_dota_head,
    is_label_head,
    is_lines,
    is_meta_head,
    is_names_file,
    is_names_head,
    is_via_head,
    json_kind_of,
    plain_head,
)
from bboxqa.formats.label_folders import LabelFolders, folders_and_files
from bboxqa.formats.masks.folders import holds_masks, people_in
from bboxqa.formats.member import MAX_MEMBERS, is_archive
from bboxqa.formats.records import WHOLE
from bboxqa.formats.scanner import LIST, begins_with_results
from bboxqa.formats.source import (
    archive_around,
    are_subsets,
    head_of,
    members_of,
    members_with,
    readable_members,
)
from bboxqa.model.choices import NO_CHOICES, Choices

GROUP = "bboxqa.formats"
"""The group of entry points by which other packages add formats."""
_SERVICES = ("sagemaker", "labelbox", "zooniverse")
# The number of files examined in an archive, and in a folder.
_LOOKED_AT, _SAMPLE = 50, 5


def _recognises(kind: str, ends: str | tuple[str, ...], path: Path) -> bool:
    """Return whether a file begins like a kind of text, or an archive holds such a file."""
    looks_right = is_via_head if kind == "VIA" else partial(begins, kind)
    head = head_of(path)
    if not is_archive(head):
        return looks_right(head)
    named = islice(members_with(readable_members(path), ends), _LOOKED_AT)
    return any(looks_right(each.head()) for each in named)


def _all_begin(kind: str, folder: Path) -> bool:
    """Return whether a folder has JSON files directly inside, and a few of them are of a kind."""
    files = _json_in(folder)[:_SAMPLE]
    return bool(files) and all(begins(kind, head_of(each)) for each in files)


def _json_in(folder: Path) -> list[Path]:
    """Return the JSON files directly in a folder, unsorted; none if it cannot be read."""
    names = folders_and_files(folder, MAX_MEMBERS)[1]
    return [folder / each for each in names if each.lower().endswith(".json")]


def _is_darwin(folder: Path) -> bool:
    # Releases have their files directly inside; "latest" may be a link to another release.
    releases = [each for each in folder.glob("releases/*/") if not each.is_symlink()]
    folders = (folder, *(releases if len(releases) == 1 else ()))
    inside = (below for each in folders for below in (each, each / "annotations"))
    return any(_all_begin("Darwin", each) for each in inside)


def _is_datumaro(folder: Path) -> bool:
    """Return whether a folder is one data set; files with other names belong to annotators."""
    if _all_begin("Datumaro", folder / "annotations"):
        return True
    names = [file.name for file in _json_in(folder)]
    return bool(names) and are_subsets(names) and _all_begin("Datumaro", folder)


def _is_supervisely(folder: Path) -> bool:
    """Return whether a folder is a project, a dataset, or the annotations of a dataset.

    Annotations in `ann` and in a folder beside it are those of two people.
    """
    own = folder / "ann"
    if _all_begin("Supervisely", own):
        others = (each for each in folder.glob("*/") if each != own)
        return not any(_all_begin("Supervisely", each) for each in others)
    named = (each for each in _json_in(folder) if each.name.lower() == "meta.json")
    return any(is_meta_head(head_of(each)) for each in named) or _all_begin("Supervisely", folder)


def _is_yolo(folder: Path) -> bool:
    """Return whether a folder is one YOLO data set, rather than a folder of several."""
    names = [each.name for each in folder.iterdir() if is_names_file(each.name)]
    heads = {each: head_of(folder / each) for each in names}
    is_marked = any(is_names_head(*each) for each in heads.items())
    return _YOLO.is_one_source(folder, is_marked=is_marked)


def _is_table(path: Path) -> bool:
    """Return whether a file is a table of boxes, or an archive has such a table."""
    if is_archive(head_of(path)):
        from bboxqa.formats.box_tables.reader import tables_in

        return bool(tables_in(path))
    return _has_boxes(path, {})


def _has_boxes(path: Path, said: Mapping[str, str]) -> bool:
    """Return whether a table has columns of boxes; True for any if the user names its columns."""
    if not path.name.lower().endswith(TABLES) and not _is_rows(head_of(path)):
        return False
    from bboxqa.formats.box_tables.columns import columns_of
    from bboxqa.formats.box_tables.reader import header_in

    header = header_in(members_of(path)[0])
    return bool(header) and (bool(said) or not columns_of(header, {}).problem)


def _is_rows(head: bytes) -> bool:
    """Return whether JSON is rows of a table, as a list or in lines, and of no tool."""
    plain = plain_head(head)
    if json_kind_of(plain) is not None or begins_with_results(plain):
        return False
    return is_lines(plain) or LIST.match(plain) is not None


_VOC = LabelFolders(".xml", lambda head, _strict: begins("VOC", head))
_LABELME = LabelFolders(".json", lambda head, _strict: begins("LabelMe", head))
_DOTA = LabelFolders(".txt", lambda head, _strict: is_dota_head(head))
_YOLO = LabelFolders(
    ".txt", lambda head, strict: is_label_head(head, strict=strict), may_be_empty=True
)


def _format(
    name: str,
    suffixes: tuple[str, ...],
    recognises: Callable[[Path], int],
    recognises_folder: Callable[[Path], int] | None = None,
    folders: LabelFolders | None = None,
) -> Format:
    """Return a format whose reader is the function `translate` in the folder of its name."""
    if folders is not None:
        recognises_folder = recognises_folder or folders.is_one_source
    folder = "box_tables" if name == "table" else name.replace("-", "_")
    place = f"services.reader:{name}" if name in _SERVICES else f"{folder}.reader:translate"
    return translated_format(
        name,
        suffixes,
        recognises,
        f"bboxqa.formats.{place}",
        recognises_folder=recognises_folder,
        folders_in_parts=None if folders is None else folders.folders_in_parts,
    )


def _text(
    name: str,
    kind: str,
    ends: tuple[str, ...] = (".json",),
    recognises_folder: Callable[[Path], int] | None = None,
) -> Format:
    """Return a format of files of one kind of text."""
    return _format(name, ends, partial(_recognises, kind, ends), recognises_folder)


def _is_sagemaker(folder: Path) -> bool:
    """Return whether a folder has the answers of workers, as Ground Truth arranges them."""
    inside = (folder / each for each in ("", "worker-response", "annotations/worker-response"))
    homes = [each for each in inside if (each / "iteration-1").is_dir()]
    homes += [folder] if folder.name.startswith("iteration-") else []
    first = next((file for home in homes for file in home.rglob("*.json")), None)
    return first is not None and begins("SageMaker", head_of(first))


def _is_zooniverse(path: Path) -> bool:
    return head_of(path).removeprefix(b"\xef\xbb\xbf").startswith(b"classification_id,user_name,")


_BUILT_IN = (
    COCO,
    COCO_ARCHIVE,
    _text("label-studio", "Label Studio"),
    _text("cvat", "CVAT", (".xml",)),
    _text("supervisely", "Supervisely", recognises_folder=_is_supervisely),
    _format("dota", (), _DOTA.is_archive, folders=_DOTA),
    _format("yolo", (), partial(_YOLO.is_archive, is_mark=is_names_file), _is_yolo, _YOLO),
    _text("via", "VIA", (".json", ".csv")),
    _text("darwin", "Darwin", recognises_folder=_is_darwin),
    _text("datumaro", "Datumaro", recognises_folder=_is_datumaro),
    _text("sagemaker", "SageMaker", (".manifest", ".json", ".jsonl"), _is_sagemaker),
    _text("labelbox", "Labelbox", (".ndjson", ".json", ".jsonl")),
    _format("zooniverse", (".csv",), _is_zooniverse),
    _format("table", TABLES, _is_table),
    _format("voc", (), partial(_recognises, "VOC", ".xml"), folders=_VOC),
    _format("labelme", (), partial(_recognises, "LabelMe", ".json"), folders=_LABELME),
)
# Grey pictures look like masks, so that only what the user says recognises them.
_MASKS, _OBJECT_FILES = (
    translated_format(
        "masks",
        (),
        lambda _: 0,
        "bboxqa.formats.masks.reader:translate",
        folders_in_parts=partial(people_in, by_image=by_image),
    )
    for by_image in (False, True)
)
FORMATS: dict[str, Format] = {each.name: each for each in _BUILT_IN}
_TITLES = {
    "coco": "COCO JSON", "coco-archive": "COCO JSON", "label-studio": "Label Studio",
    "cvat": "CVAT", "supervisely": "Supervisely", "dota": "DOTA", "yolo": "YOLO", "via": "VIA",
    "darwin": "Darwin", "datumaro": "Datumaro", "table": "tables of boxes", "voc": "Pascal VOC",
    "labelme": "LabelMe", "sagemaker": "SageMaker Ground Truth", "labelbox": "Labelbox",
    "zooniverse": "Zooniverse",
}  # fmt: skip
OF_ONE_IMAGE = tuple(FORMATS[name] for name in ("darwin", "voc", "labelme"))
"""Formats with one image per file."""
# Files of archives, and folders, whose formats are kept: each is asked about often.
_KEPT, _FOLDERS = 1 << 15, 256


def names() -> tuple[str, ...]:
    """Return the names of all formats, with formats of other packages last.

    Examples
    --------
    >>> names()[:1], "cvat" in names()
    (('coco',), True)
    """
    return tuple(dict.fromkeys((*FORMATS, *plugins(GROUP))))


def title_of(found: Format) -> str:
    """Return what messages call a format: the name of its tool, or its own if it was added.

    Examples
    --------
    >>> title_of(FORMATS["label-studio"])
    'Label Studio'
    """
    return _TITLES.get(found.name, found.name)


def format_of(path: Path, choices: Choices = NO_CHOICES) -> Format:
    """Return the format of a file or folder; COCO if no format recognises it.

    It is the one that is most sure of it, or that the user chose of several. Raises ConfigError if
    a package that offers a format cannot be imported, or if its format has the name of a built-in
    one.
    """
    found = formats_of(path, choices)
    if len(found) > 1:
        found = [each for each in found if short_name(each) == choices.from_format] or found
    return found[0] if found else COCO


def document_of(path: Path, choices: Choices) -> RawDocument | None:
    """Return the records of a source with their places; None if its format is not checked."""
    read = format_of(path, choices).document
    return None if read is None else read(path, replace(WHOLE, choices=choices))


def formats_of(path: Path, choices: Choices = NO_CHOICES) -> list[Format]:
    """Return the formats that are most sure of a file or folder; several if it holds several.

    If the user says what the columns of tables hold, any table is one of boxes; if they say what
    masks hold, any folder or archive of pictures is one of masks.
    """
    if choices.mask and holds_masks(path):
        return [_OBJECT_FILES if choices.mask.startswith("objects") else _MASKS]
    if path.is_dir():
        return _formats_of_folder(path) or _formats_of_parts(path)
    if not path.is_file():
        return [(format_inside(path) or COCO_ARCHIVE)] if archive_around(path) else []
    if is_surely_coco(path):
        return [COCO]
    found = [*_sure_of(path, identity_of(path), names())]
    is_table = found in ([], [COCO]) and bool(choices.columns) and _has_boxes(path, choices.columns)
    return [FORMATS["table"]] if is_table else found


def short_name(found: Format) -> str:
    """Return the name of a format for --from: COCO JSON is one format in an archive as well."""
    return COCO.name if found is COCO_ARCHIVE else found.name


def format_inside(path: Path) -> Format | None:
    """Return the format of a file inside an archive; None if no format recognises it."""
    archive = archive_around(path)
    found = () if archive is None else _sure_of(path, identity_of(archive), names())
    return next((each for each in found if each is not COCO), None)


# Formats open all files of an archive, and reading a file asks several times.
@lru_cache(_KEPT)
def _sure_of(path: Path, identity: Identity, known: tuple[str, ...]) -> tuple[Format, ...]:
    """Return the formats that are most sure of a file: 0 no, 1 maybe, 2 sure."""
    del identity, known
    answers = {each: each.recognises(path) for each in all_formats()}
    sure = {each: 2 if answer is True else int(answer) for each, answer in answers.items()}
    most = max(sure.values())
    return tuple(each for each, value in sure.items() if value == most and most)


def is_source(folder: Path) -> bool:
    """Return whether a folder is one source, rather than a folder of several sources."""
    return bool(_formats_of_folder(folder))


def _formats_of_folder(folder: Path) -> list[Format]:
    with suppress(OSError):
        return [*_formats_recognising(folder, identity_of(folder))]
    return []


# Reading a data set asks about a folder more than ten times.
@lru_cache(_FOLDERS)
def _formats_recognising(folder: Path, identity: Identity) -> tuple[Format, ...]:
    del identity
    found = []
    for each in all_formats():
        # Reading the files of the folder reports an error.
        with suppress(OSError):
            if each.recognises_folder is not None and each.recognises_folder(folder):
                found.append(each)
    return tuple(found)


def _formats_of_parts(folder: Path) -> list[Format]:
    """Return the common format of the subfolders that are sources; none if they have several."""
    try:
        found = {each for inside in folders_in(folder) for each in _formats_of_folder(inside)}
    except OSError:
        return []
    return [*found] if len(found) == 1 else []


def all_formats() -> Iterator[Format]:
    """Yield the built-in formats, and those of other packages."""
    yield from FORMATS.values()
    yield from _added()


def suffixes() -> tuple[str, ...]:
    """Return the distinct suffixes of all formats.

    Raises ConfigError if a package that offers a format cannot be imported, or if its format has
    the name of a built-in one.
    """
    return tuple(dict.fromkeys(suffix for each in all_formats() for suffix in each.suffixes))


def _added() -> Iterator[Format]:
    for name, plugin in plugins(GROUP).items():
        if name in FORMATS:
            plugin.refuse_built_in()
        yield plugin.load(Format)
