"""`bboxqa agree` and `compare`: how far annotators agree, and what changed between versions."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bboxqa.cli import console
from bboxqa.cli import options as shared
from bboxqa.cli.options import A_PATH, COMPARING, READING, params
from bboxqa.core.errors import BboxqaError, DatasetError
from bboxqa.report import AGREEMENT_VIEWS, COMPARISON_VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bboxqa.core.arrays import AnyPath
    from bboxqa.model.annotations import Dataset
    from bboxqa.model.diagnosis import Diagnosis, Story
    from bboxqa.pipelines.agree import AgreementResult
    from bboxqa.report.pages import PageTarget


TOOLS = ("cvat", "dota", "label-studio", "labelme", "voc", "yolo")
"""The formats of tools that objects can be sent back to; naming them loads no writer."""


_OPTIONS = params(
    shared.FILES, "annotator", *READING, "session_key", "time_key", "tracks", "reference",
    "predictions", "score", "checks", *COMPARING, "bootstrap", "seed", "config", "memory", "since",
    "min_alpha", "min_f1", "diagnose", "report", "images", "split", "top", "out", "send_back", "to",
    "force", "raw_csv", "pseudonyms", "quiet", shared.format_option(*AGREEMENT_VIEWS),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OPTIONS)
def agree(
    *,
    paths: tuple[Path, ...],
    named: tuple[str, ...],
    config: str | None,
    reference: str | None,
    predictions: Path | None,
    score: float | None,
    raw_csv: bool,
    diagnose: bool,
    top: int | None,
    quiet: bool,
    output_format: str,
    **given: Any,
) -> int:
    """Measure how far annotators agree (Krippendorff's alpha).

    \b
      bboxqa agree export.json                       one file with several annotators
      bboxqa agree ann.json bob.json --out results/  one file per annotator
      bboxqa agree export.json --send-back review/ --to cvat
                                                     what each should look at again

    FILE is COCO JSON, or what another tool wrote (docs/formats.md): one file with several
    annotators, one file per annotator, or a folder of such files. The output says how annotators
    were identified.
    """  # noqa: D301 - click reads the sign
    from msgspec.structs import replace

    from bboxqa.formats.records import LOWEST_SCORE
    from bboxqa.formats.source import SourcePath
    from bboxqa.model.diagnosis import Diagnosis
    from bboxqa.pipelines.agree import agree_files
    from bboxqa.pipelines.read import AS_COMPARED
    from bboxqa.report.agreement_summary import passes

    if quiet and output_format != "text":
        raise click.UsageError("--quiet is about text; leave out --format")
    choices = shared.reading_of(config, given)
    source = shared.source_of(tuple(map(SourcePath, paths)), named)
    beside = (reference, predictions, given["session_key"])
    if isinstance(source, dict) and len(source) == 1 and not any(beside):
        typed = shlex.join(("bboxqa", *sys.argv[1:], "--annotator", "NAME=FILE"))
        raise click.UsageError(f"a second annotator is missing; try: {typed}")
    to = targets_of(given, source, (reference, predictions, config), top)
    settings = shared.agree_settings(config, given, choices=choices)
    score = LOWEST_SCORE if score is None else score
    in_text = output_format == "text" and not quiet
    with console.tracking() as progress:
        reading = replace(
            AS_COMPARED, score=score, pseudonyms=to.key, digest=bool(to.out or to.page),
            predictions=predictions, choices=choices, progress=progress,
        )  # fmt: skip
        result = agree_files(source, settings, reading, reference)
        if top is not None:
            result = replace(result, n_worst=max(result.n_worst, top))
        wanted = diagnose or to.page is not None or to.send_back is not None
        story, failure = _diagnosed(result, in_text, wanted=wanted, is_written=to.out is not None)
    diagnosis = story if isinstance(story, Diagnosis) else None
    tool = to.to or _tool_of(result)
    written, notes = _write(result, diagnosis, to, tool, details=diagnose, raw_csv=raw_csv)
    if diagnosis is not None and to.send_back is not None:
        notes += _send_back(result, diagnosis, to, (paths, named))
        written += [to.send_back] * bool(diagnosis.to_review)
    more: dict[str, Any] = {"diagnosis": diagnosis if diagnose else None}
    if output_format == "text":
        add = _steps(result, to, tool, details=diagnose)
        more = {"story": story, "details": diagnose, "add": add, "quiet": quiet}
    if predictions is not None and paths and in_text:
        typed = shlex.join(["bboxqa", "audit", *map(str, paths), "--predictions", str(predictions)])
        notes.append(f"which labels to look at: {typed}")
    console.show(AGREEMENT_VIEWS, result, output_format, written, **more)
    console.show_notes(notes)
    if failure is not None:
        click.echo("The figures are whole, but what lowers agreement was not found:", err=True)
        if wanted:
            raise failure
        click.echo(failure, err=True)
    return 0 if passes(result) else 1


def _steps(result: "AgreementResult", to: "Targets", tool: str, *, details: bool) -> list[str]:
    """Return options that show or write more of a result than was asked for."""
    steps = {
        f"--send-back DIR --to {tool} (corrections)":
            to.send_back is None and result.n_images > 0
            and not result.thresholds[0].is_unanimous,
        "--report page.html": to.page is None, "--details": not details,
    }  # fmt: skip
    return [step for step, is_missing in steps.items() if is_missing]


def _diagnosed(
    result: "AgreementResult", in_text: bool, *, wanted: bool, is_written: bool
) -> "tuple[Story | None, BboxqaError | None]":
    """Return the diagnosis or the story, or the error, beside which the figures are shown."""
    quick = not result.why_slow
    try:
        if wanted or (is_written and quick):
            return result.diagnose(), None
        return (result.tell() if in_text and quick else None), None
    except BboxqaError as error:
        return None, error


def _tool_of(result: "AgreementResult") -> str:
    """Return the tool that wrote what was measured, where files can be written for it; or CVAT."""
    from bboxqa.formats.registry import format_of
    from bboxqa.formats.source import SourcePath

    found = format_of(SourcePath.at(result.sources[0].name)).name
    return found if found in TOOLS else "cvat"


def _send_back(
    result: "AgreementResult",
    diagnosis: "Diagnosis",
    to: "Targets",
    given: tuple[tuple[Path, ...], tuple[str, ...]],
) -> list[str]:
    """Write what is to be looked at again, if there is anything, and return notes."""
    from bboxqa.pipelines.send_back import send_back

    folder = to.send_back
    if folder is None or not diagnosis.to_review:
        return [f"no object has to be looked at again: {folder} was not written"]
    notes = send_back(result, diagnosis, folder, to.to)
    return [*notes, how_to_accept(result, given, folder, to.key)]


class Targets(NamedTuple):
    """Where a command writes."""

    inputs: "list[AnyPath | None]"
    """All paths that are read."""
    out: Path | None
    page: "PageTarget | None"
    send_back: Path | None
    to: str
    """The format of what is sent back; "" without."""
    key: Path | None
    """The key of pseudonyms."""


def targets_of(
    given: dict[str, Any],
    source: Any,
    others: "Iterable[AnyPath | None]" = (),
    top: int | None = None,
) -> Targets:
    """Return where a command writes, from its options, which are taken out of `given`.

    What must not be written to is refused before anything is read: `source`, files or a mapping of
    annotators to files, and `others`. A page shows `top` images.
    """
    from bboxqa.formats.sources import as_paths

    names = ("report", "images", "split", "out", "send_back", "to", "force", "pseudonyms")
    report, images, split, out, folder, to, force, key = (given.pop(name, None) for name in names)
    paths = as_paths(source)
    inputs = [*paths, *others]
    if (folder is None) != (to is None):
        raise click.UsageError("--send-back goes with --to, such as: --send-back review/ --to cvat")
    if folder is not None:
        from bboxqa.pipelines.send_back import check_send_back

        check_send_back(folder, to, paths, force=force)
    console.refuse_inputs([report, folder], inputs, images, out)
    if out is not None:
        from bboxqa.report.result_files import check_folder

        check_folder(out, force=force)
    if key is not None:
        from bboxqa.core.pseudonyms import check_key

        check_key(key, (out, report, folder))
    has_top = top is not None and out is None
    for name, value in (("--images", images), ("--split", split), ("--top", has_top)):
        if value and report is None:
            raise click.UsageError(f"{name} is for --report FILE, which is missing")
    page = None
    if report is not None:
        from bboxqa.report.pages import PageTarget

        page = PageTarget(report, images, split, top)
        page.check(force=force)
    return Targets(inputs, out, page, folder, to or "", key)


def how_to_accept(
    result: "AgreementResult | Dataset",
    given: tuple[tuple[Path, ...], tuple[str, ...]],
    folder: Path,
    key: Path | None,
) -> str:
    """Return what to type when the objects that were sent back are done."""
    from bboxqa.formats.registry import format_of
    from bboxqa.model.annotations import as_options
    from bboxqa.report.reproduction import option_words

    (paths, named), first, original, more = given, "", "ORIGINAL", ""
    read = [*paths, *(Path(pair.partition("=")[2]) for pair in named)]
    if key is not None:
        # Names of files may be those of people.
        more = f" --pseudonyms {shlex.quote(str(key))}"
    elif len(paths) == 1 and paths[0].is_file() and format_of(paths[0]).name == "coco":
        original = shlex.quote(str(paths[0]))
    else:
        measured = [*paths, *(each for pair in named for each in ("--annotator", pair))]
        original = str(new_path("original.json", read))
        # Files that name nobody are those of their annotators here, as they were measured.
        files = "" if named or "per annotator" not in result.attribution else " --attribution files"
        said = shlex.join(
            word for pair in as_options(result.reading).items() for word in option_words(*pair)
        )
        words = shlex.join(map(str, measured))
        # COCO has no place for tags of images, which nobody was sent.
        how = f"--to coco --lossy{files}{said and ' '}{said}"
        first = f"bboxqa convert {words} {original} {how}; "
    place = shlex.quote(str(folder))
    ready = f"when their exports are in {place} in place of the files"
    return f"{ready}: {first}bboxqa accept {original} {place} -o {new_path('NEW.json', read)}{more}"


def new_path(name: str, read: "Iterable[AnyPath]") -> Path:
    """Return a path for an output: it does not exist, and is in no folder that is read."""
    here = Path.cwd()
    folders = [each.resolve() for each in map(Path, read) if each.is_dir()]
    n_up = sum(any(map(each.is_relative_to, folders)) for each in (here, *here.parents))
    place = Path(*[".."] * n_up)
    path, number = place / name, 1
    while path.exists():
        number += 1
        path = place / f"{Path(name).stem}-{number}{Path(name).suffix}"
    return path


def _write(
    result: "AgreementResult",
    diagnosis: "Diagnosis | None",
    to: Targets,
    tool: str,
    *,
    details: bool,
    raw_csv: bool,
) -> tuple[list[Path], list[str]]:
    """Write the requested folder and page, and return their paths and notes.

    The page sends objects back to `tool`.
    """
    written, notes = list[Path](), list[str]()
    if to.out is None and to.page is None:
        return written, notes
    from bboxqa.formats.sources import files_read
    from bboxqa.pipelines.pictures import write_result
    from bboxqa.report.agreement_summary import summary
    from bboxqa.report.result_files import documents_of, write_folder

    documents = documents_of(result, summary(result), diagnosis)
    documents["manifest"]["tool"] = tool
    if to.out is not None:
        kept = files_read(to.inputs)
        how = {"details": details, "raw_csv": raw_csv}
        write_folder(result, documents, to.out, diagnosis=diagnosis, kept=kept, **how)
        written.append(to.out)
    if to.page is not None:
        with console.tracking() as progress:
            notes += write_result(documents, to.page, progress)
        written.append(to.page.page)
    return written, notes


_OF_COMPARE = params(
    *READING, "checks", *COMPARING, "bootstrap", "seed", "config", "memory", "min_alpha", "min_f1",
    "out", "force", "raw_csv", "pseudonyms", "quiet", shared.format_option(*COMPARISON_VIEWS),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OF_COMPARE)
@click.argument("before", metavar="BEFORE", type=A_PATH)
@click.argument("after", metavar="AFTER", type=A_PATH)
def compare(
    *,
    before: Path,
    after: Path,
    config: str | None,
    raw_csv: bool,
    quiet: bool,
    output_format: str,
    **given: Any,
) -> int:
    """Compare two versions of a data set: annotations, and agreement.

    \b
      bboxqa compare before.json after.json
      bboxqa compare round1/ round2/ --out changes/
      bboxqa compare result/ reviewed.json   what changed since `bboxqa agree --out result/`

    BEFORE and AFTER are files of annotations, or folders with one file per annotator; BEFORE may be
    a saved result, whose settings then apply. Two annotations are the same if they have the same
    annotator, image and id, and overlap; other annotations are matched by similarity. With several
    annotators, agreement before and after is compared in the images that both versions have.
    """  # noqa: D301 - click reads the sign
    from bboxqa.pipelines.compare import compare_files
    from bboxqa.report.agreement_summary import passes
    from bboxqa.report.comparison import since_lines
    from bboxqa.report.result_files import read_saved

    if quiet and output_format != "text":
        raise click.UsageError("--quiet is about text; leave out --format")
    is_result = all((before / name).is_file() for name in ("manifest.json", "summary.json"))
    saved = read_saved(before) if is_result else None
    manifest = {} if saved is None else saved["manifest"]
    to = targets_of(given, [before, after], [config])
    choices = shared.reading_of(config, given, manifest.get("reading", {}))
    of_result = {k: v for k, v in manifest.get("settings", {}).items() if v is not None}
    settings = shared.agree_settings(config, given, of_result or None, choices)
    with console.tracking() as progress:
        result = compare_files(
            before, after, settings, saved=saved, pseudonyms=to.key, digest=to.out is not None,
            choices=choices, progress=progress,
        )  # fmt: skip
    if isinstance(result, dict):
        if to.out is not None:
            raise DatasetError([result["reason"]], "Without the measured files, leave --out out.")
        views: dict[str, Any] = {"json": dict, "text": since_lines}
        console.print_result(result, views, output_format, None)
        return 0
    if to.out is not None:
        from bboxqa.formats.sources import files_read
        from bboxqa.report.comparison import write_comparison

        write_comparison(result, to.out, raw_csv=raw_csv, kept=files_read(to.inputs))
    more = {"quiet": True} if quiet else {}
    console.show(COMPARISON_VIEWS, result, output_format, [*filter(None, [to.out])], **more)
    measured = result.after.agreement
    gated = settings.min_alpha is not None or settings.min_f1 is not None
    return 1 if gated and (measured is None or not passes(measured)) else 0
