"""Conversion of files of one format to another."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from os.path import realpath
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from bboxqa.core.arrays import AnyPath, Files, Progress
from bboxqa.core.errors import ConfigError, DatasetError, OutputError
from bboxqa.core.files import filled_folder, refuse_replacing, write_atomically, writing
from bboxqa.core.pseudonyms import check_key, hider, pseudonyms_of
from bboxqa.core.text import clean, count
from bboxqa.formats.choices import given
from bboxqa.formats.dataset.names import left_out_by
from bboxqa.formats.gathering import content_of
from bboxqa.formats.member import ARCHIVES
from bboxqa.formats.opening import is_review_queue
from bboxqa.formats.registry import writer, writer_names
from bboxqa.formats.sources import as_paths, files_read
from bboxqa.formats.writing.content import (
    Content,
    Loss,
    Parts,
    Writer,
    Written,
    held_as_one,
    image_name,
    in_parts,
    with_suffix,
    without_categories,
)
from bboxqa.formats.writing.losses import losses as losses_in
from bboxqa.formats.writing.losses import notes_on
from bboxqa.model.annotations import Choices
from bboxqa.model.settings import AgreeSettings, Asked, Attribution, JoinBy
from bboxqa.pipelines.read import AS_COMPARED, Data, check_files, paths_of, read_for

_UNFINISHED = ".unfinished"
_SAME_PARTS = "data.yaml trains and validates on the same images: --parts train=0.8,val=0.2"


class Conversion(msgspec.Struct, frozen=True):
    """What was written."""

    path: Path
    """The file or folder."""
    n_files: int
    n_images: int
    n_annotations: int
    annotators: tuple[str, ...]
    """Names of the annotators."""
    losses: tuple[Loss, ...]
    """What annotators said, and was left out because the format cannot hold it."""
    notes: tuple[str, ...]
    """Findings because of which `agree` refuses the files, what was left out when they were read,
    what is left out without being refused, such as ids, and what only the pictures hold."""

    def in_words(self) -> str:
        """Return what was written, as a part of a sentence."""
        parts = [count(self.n_images, "image"), count(self.n_annotations, "annotation")]
        if self.annotators:
            parts.append(count(len(self.annotators), "annotator"))
        if self.n_files > 1:
            parts.append(f"in {self.n_files:,} files")
        return ", ".join(parts)


class Target(msgspec.Struct, frozen=True):
    """What is written where, and whether it may lose or replace something."""

    path: Path
    to: str
    lossy: bool = False
    force: bool = False
    as_predictions: bool = False
    parts: Parts | None = None
    image_suffix: str = ""


def convert(
    source: Files,
    out: AnyPath,
    *,
    to: str,
    lossy: bool = False,
    force: bool = False,
    as_predictions: bool = False,
    parts: Mapping[str, float] | None = None,
    seed: int = 0,
    group_by: str | None = None,
    image_suffix: str = "",
    annotator_key: str | None = None,
    attribution: Attribution | None = None,
    join: JoinBy = "path",
    category_map: Mapping[str, str] | None = None,
    asked: Asked = "authors",
    pattern: str | None = None,
    pseudonyms: AnyPath | None = None,
    progress: Progress | None = None,
) -> Conversion:
    """Write annotations in the format of another tool, with who drew what and who was asked.

    Parameters
    ----------
    source : path, sequence of paths, or mapping of annotators to paths
        Files and folders of any format that is read.
    out : path
        The file or folder to write. It appears when it is complete.
    to : str
        The format, such as "coco" or "label-studio".
    lossy, force : bool
        Whether to leave out what the format cannot hold, which is refused otherwise, unless it is a
        review queue; and whether to replace what is there.
    as_predictions : bool
        Whether Label Studio gets predictions, each annotator as a model, in place of annotations.
    parts, seed, group_by : mapping of str to float, int, str
        The share of images of each part, such as ``{"train": 0.8, "val": 0.2}``, the seed by which
        they are drawn, and what stays in one part: a key of image records, "folder" or "stem".
    image_suffix : str
        The suffix, such as ".jpg", of names of images that have none.
    annotator_key, attribution, join, category_map, asked, pattern, pseudonyms
        As for `read`. Pseudonyms also replace names in other keys of records.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Conversion

    Raises
    ------
    ConfigError
        If the format is not known.
    DatasetError
        If the files cannot be read, or the format cannot hold all of them.
    OutputError
        If the output exists, or cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bboxqa.examples import example_file
    >>> with TemporaryDirectory() as folder:
    ...     found = convert(example_file("fruits"), f"{folder}/fruits.csv", to="csv")
    >>> found.n_images, found.n_annotations, found.annotators
    (1, 9, ('Ann1', 'Ann2', 'Ann3'))
    """
    shares = None if parts is None else Parts(tuple(parts.items()), seed, group_by)
    target = Target(Path(out), to, lossy, force, as_predictions, shares, image_suffix)
    settings = AgreeSettings(
        annotator_key=annotator_key, attribution=attribution, join=join,
        category_map=dict(category_map or {}), asked=asked, filter=pattern,
    )  # fmt: skip
    key = None if pseudonyms is None else Path(pseudonyms)
    # Refuse what is in memory.
    as_paths(source)
    return convert_with(source, target, settings, given(), progress, key)


def convert_with(
    source: Data,
    target: Target,
    settings: AgreeSettings,
    choices: Choices,
    progress: Progress | None = None,
    pseudonyms: Path | None = None,
) -> Conversion:
    """Write annotations in the format of another tool, with checked settings; see `convert`."""
    path, to_format = target.path, writer(target.to)
    if target.parts is not None:
        target.parts.check(to_format)
        if not to_format.lists_parts:
            to_format = replace(to_format, layout="folder", is_known_by_suffix=False)
    if target.as_predictions and target.to != "label-studio":
        raise ConfigError("predictions are for Label Studio; expected to='label-studio'")
    refuse_inputs(path, source)
    check_output(path, to_format, force=target.force)
    if pseudonyms is not None:
        check_key(pseudonyms, [path])
    content, notes = gather(source, settings, choices, progress, pseudonyms)
    holds = to_format.holds
    any_rectangle = "rotation" in holds and "polygon" not in holds
    content = replace(content, as_predictions=target.as_predictions, any_rectangle=any_rectangle)
    if "keypoints" not in holds:
        # Annotations with key points but no box are only counted.
        apart = [each for each in content.annotations if "shape" in each]
        kept = [each for each in content.annotations if "shape" not in each]
        content = replace(content, annotations=kept, apart=[*content.apart, *apart])
    content, changes = held_as_one(content, to_format)
    if target.image_suffix:
        content = with_suffix(content, target.image_suffix)
    if target.parts is not None:
        content = replace(content, parts=target.parts.of_images(content))
        notes = (*notes, *target.parts.notes(content))
    elif to_format.lists_parts:
        notes = (*notes, _SAME_PARTS)
    losses = tuple(losses_in(content, to_format))
    # The measured files still have what a review queue loses.
    given = [*map(Path, paths_of(source))]
    are_refused = not target.lossy and not (given and all(map(is_review_queue, given)))
    _refuse(content, to_format, losses if are_refused else ())
    are_apart = content.parts and not to_format.lists_parts
    files = in_parts(content, to_format) if are_apart else to_format.files(content)
    n_files = _write(path, to_format, files)
    held = content.held(holds)
    sizes = n_files, len(content.images), len(content.annotations) + len(held)
    notes = (*notes, *changes, *notes_on(content, to_format))
    return Conversion(path, *sizes, tuple(content.annotators), losses, notes)


def _refuse(content: Content, to_format: Writer, losses: Iterable[Loss]) -> None:
    problems, advice, written = [], [], content.held(to_format.holds)
    drawn = {each.get("image_id") for each in (*content.annotations, *written)}
    sizeless = [
        image_name(each)
        for each in content.images
        if not (each.get("width") and each.get("height"))
        and (to_format.needs_sizes != "drawn images" or each["id"] in drawn)
    ]
    if sizeless and to_format.needs_sizes is not None:
        some = f"{count(len(sizeless), 'image')} without width and height, such as {sizeless[0]!r}"
        problems = [f"{some}; {to_format.title} needs them"]
        advice = [
            "Give one size, or the folder of images: --image-size 1920x1080, or --image-size DIR"
        ]
    if lost := [str(each) for each in losses]:
        problems += lost
        advice.append("Nothing was written. To write the rest: --lossy")
    if problems:
        raise DatasetError(problems, "\n".join(advice))


def gather(
    source: Data,
    settings: AgreeSettings,
    choices: Choices,
    progress: Progress | None = None,
    pseudonyms: Path | None = None,
) -> tuple[Content, tuple[str, ...]]:
    """Return the content of files, and notes on what was left out when they were read."""
    doubts: list[str] = []
    joined: list[Any] = []

    def check(*read: Any) -> None:
        try:
            check_files(*read, boxes=True, choices=choices)
        except DatasetError as error:
            doubts.extend(f"{line}; written as they are" for line in error.problems)

    reading = replace(
        AS_COMPARED,
        digest=False, min_annotators=1, refuse_equal=True, score=0, outlines=True, keypoints=True,
        records=True, progress=progress, choices=choices, check=check, pseudonyms=pseudonyms,
        on_joined=lambda *found: joined.extend(found),
    )  # fmt: skip
    data = read_for(source, settings, reading)
    given = {} if pseudonyms is None else pseudonyms_of(pseudonyms, ())
    content, more = content_of(data, given, *joined)
    n_nobody = sum("annotator" not in each for each in content.annotations)
    if content.annotators and n_nobody:
        doubts.append(f"{count(n_nobody, 'annotation')} of nobody: the files name no one there")
    notes = hider(given)([*doubts, *more, *data.map_notes.values()])
    if names := left_out_by(settings.category_map):
        content = without_categories(content, names)
    return content, (*data.left_out, *notes)


def refuse_inputs(path: Path, source: Data) -> None:
    """Refuse an output that would replace one of the inputs or a folder of them."""
    given = [*map(Path, paths_of(source))]
    for each in chain(given, files_read(given) if path.is_dir() else ()):
        # `Path.resolve` raises an error for a link that leads to itself.
        if Path(realpath(each)).is_relative_to(realpath(path)):
            held = "is read" if each == path else f"holds {each}, which is read"
            raise OutputError(f"{path}: {held}; name another output")
    refuse_replacing([path], files_read(given))


def check_output(path: Path, to_format: Writer, *, force: bool) -> None:
    """Refuse an output that exists, or has the name of another kind, before anything is read."""
    is_file, title = _is_file(path, to_format), to_format.title
    layout, end = ("one file", to_format.suffixes[0]) if is_file else ("a folder", "")
    if path.is_symlink():
        raise OutputError(f"{path}: is a link, which would be replaced; name what it leads to")
    if path.exists() and path.is_dir() == is_file:
        found = "a folder" if is_file else "a file"
        raise OutputError(f"{path}: is {found}; {title} is {layout}: name it")
    # Programs do not open an archive that is none, and readers know tables by their names.
    writers = () if is_file else map(writer, writer_names())
    wrong = (*ARCHIVES, *(end for each in writers for end in each.suffixes))
    is_known = not to_format.is_known_by_suffix or path.name.lower().endswith(to_format.suffixes)
    if (path.name.lower().endswith(wrong) and not path.is_dir()) or not is_known:
        better = shlex.quote(clean(str(path.with_name(path.name.partition(".")[0] or "out")) + end))
        raise OutputError(f"{path}: is no name of {title}, which is {layout}; try: {better}")
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not force:
        raise OutputError(f"{path}: already exists; name another, or give --force")
    # A folder is replaced as a whole: leftover files would be read as further annotations.
    files = () if is_file else (each for each in path.rglob("*") if not each.is_dir())
    other = next((each for each in files if each.suffix not in to_format.suffixes), None)
    if other is not None:
        raise OutputError(f"{path}: has other files, such as {other.name}; name another folder")


def _is_file(path: Path, to_format: Writer) -> bool:
    if to_format.layout == "folder or file":
        return path.name.lower().endswith(to_format.suffixes[0])
    return to_format.layout == "file"


def _write(path: Path, to_format: Writer, files: Iterator[Written]) -> int:
    if _is_file(path, to_format):
        every = list(files)
        if len(every) != 1:
            why = f"{to_format.title} has one for each of {len(every):,} annotators"
            raise ConfigError(f"{path}: is the name of one file; {why}: name a folder")
        write_atomically(path, every[0].data)
        return 1
    n_files = 0
    with writing(path), filled_folder(path, last=_UNFINISHED) as folder:
        for each in files:
            place = folder.joinpath(*each.parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(each.data)
            n_files += 1
    return n_files
