"""`bboxqa compare`: differences between two versions of a data set."""

from pathlib import Path
from typing import Any

import click

from bboxqa.cli import console
from bboxqa.cli import options as shared
from bboxqa.cli.options import A_PATH, COMPARING, READING, params
from bboxqa.report import COMPARISON_VIEWS

_OPTIONS = params(
    *READING, "checks", *COMPARING, "bootstrap", "seed", "config", "memory", "min_alpha", "min_f1",
    "out", "force", "raw_csv", "pseudonyms", "quiet", shared.format_option(*COMPARISON_VIEWS),
)  # fmt: skip


@click.command(cls=shared.Command, params=_OPTIONS)
@click.argument("before", metavar="BEFORE", type=A_PATH)
@click.argument("after", metavar="AFTER", type=A_PATH)
def compare(
    *,
    before: Path,
    after: Path,
    config: str | None,
    pseudonyms: Path | None,
    out: Path | None,
    force: bool,
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
    from bboxqa.core.pseudonyms import check_key
    from bboxqa.pipelines.compare import compare_files
    from bboxqa.report.agreement_summary import passes
    from bboxqa.report.result_files import read_saved

    if quiet and output_format != "text":
        raise click.UsageError("--quiet is about text; leave out --format")
    is_result = all((before / name).is_file() for name in ("manifest.json", "summary.json"))
    manifest = read_saved(before)["manifest"] if is_result else {}
    choices = shared.reading_of(config, given, manifest.get("reading", {}))
    of_result = {k: v for k, v in manifest.get("settings", {}).items() if v is not None}
    settings = shared.agree_settings(config, given, of_result or None, choices)
    if out is not None:
        from bboxqa.report.result_files import check_folder

        check_folder(out, force=force)
    if pseudonyms is not None:
        check_key(pseudonyms, [out])
    with console.tracking() as progress:
        result = compare_files(
            before, after, settings, inputs=manifest.get("inputs", ()) if is_result else None,
            pseudonyms=pseudonyms, digest=out is not None, choices=choices, progress=progress,
        )  # fmt: skip
    written = []
    if out is not None:
        from bboxqa.formats.sources import files_read
        from bboxqa.report.comparison import write_comparison

        kept = files_read([before, after, config])
        write_comparison(result, out, raw_csv=raw_csv, kept=kept)
        written = [out]
    more = {"quiet": True} if quiet else {}
    console.show(COMPARISON_VIEWS, result, output_format, written, **more)
    measured = result.after.agreement
    gated = settings.min_alpha is not None or settings.min_f1 is not None
    return 1 if gated and (measured is None or not passes(measured)) else 0
