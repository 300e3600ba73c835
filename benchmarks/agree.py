"""Measure `bboxqa agree` beside its peers, whole processes from start to printed result.

    python benchmarks/agree.py --source FILE --data DIR

Within a case the tools take turns (A B C A B C …), after one warm-up each, so that whatever else
the machine does falls on all of them. The report is written again after each case.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import peers
from cases import BBOXQA, HERE, MIDDLE, REFERENCES, Case, Job, planned_cases
from measure import Measurement, measure
from results import Row, machine_facts, table, version_facts, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence


def printed_alphas(output: str) -> tuple[float | None, float | None]:
    """Read the pooled and the mean image alpha (of the first threshold) from a printed result."""
    document = json.loads(output)
    first = document["thresholds"][0] if "thresholds" in document else document
    return first["alpha"], first["mean_image_alpha"]


def count_annotations(file: Path) -> int:
    """Count the annotations of a generated file without reading it into memory.

    Ids are given from 1 up, so that the last one, near the end of the file, is their number.
    """
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 1_000_000))
        tail = stream.read().decode("ascii", errors="replace")
    return int(tail.rpartition('"id":')[2].partition(",")[0].rstrip("}] \n"))


def run_job(job: Job, row: Row, timeout_seconds: float) -> Measurement | None:
    """Run a job once; a failure is noted in its row."""
    measurement = measure(job.command, timeout_seconds)
    if not measurement.succeeded:
        row.failure = measurement.last_error_line
        return None
    try:
        row.alpha, row.mean_image_alpha = printed_alphas(measurement.output)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        row.failure = f"unreadable result: {error!r}"
        return None
    print(f"  {job.tool} {measurement.wall_seconds:.2f} s", file=sys.stderr, flush=True)
    return measurement


def run_case(case: Case, arguments: argparse.Namespace) -> list[Row]:
    """Run a case's jobs in turns and give their rows.

    A job whose warm-up is slow gets fewer runs, and its warm-up counts as one of them.
    """
    print(case.title, file=sys.stderr, flush=True)
    rows = [
        Row(job.tool, job.similarity, count_annotations(job.file), failure=job.failure)
        for job in case.jobs
    ]
    for job, row in zip(case.jobs, rows, strict=True):
        warm_up = run_job(job, row, arguments.timeout) if row.failure is None else None
        if warm_up and warm_up.wall_seconds > arguments.slow_seconds:
            row.slow = True
            row.runs.append(warm_up)
    for _ in range(arguments.runs):
        for job, row in zip(case.jobs, rows, strict=True):
            wanted = min(arguments.slow_runs, arguments.runs) if row.slow else arguments.runs
            if row.failure is not None or len(row.runs) >= wanted:
                continue
            measurement = run_job(job, row, arguments.timeout)
            if measurement:
                row.runs.append(measurement)
    return rows


def section(case: Case, rows: Sequence[Row], arguments: argparse.Namespace) -> str:
    """Give a case's part of the report."""
    remarks = case.remarks(rows)
    if any(row.slow for row in rows):
        remarks.append(
            f"(slow): one run took more than {arguments.slow_seconds:g} s; of such a command "
            f"there are at most {arguments.slow_runs} runs, its warm-up being one of them."
        )
    parts = [f"## {case.title}", table(rows, REFERENCES)]
    if remarks:
        parts.append("\n".join(f"- {remark}" for remark in remarks))
    return "\n\n".join(parts)


def shown_command() -> str:
    """Give the command line without the places of files on this machine."""
    words = [Path(word).name if os.sep in word else word for word in sys.argv[1:]]
    return shlex.join(["python", "benchmarks/agree.py", *words])


def report_head(arguments: argparse.Namespace) -> str:
    """Give the report's beginning: command, machine, versions."""
    environments = {BBOXQA: peers.versions(peers.python_of(arguments.bboxqa.parent.parent))}
    for name in arguments.peers:
        with contextlib.suppress(peers.PeerError):  # told in the peer's rows
            environments[name] = peers.versions(peers.ensure(name, arguments.environments))
    method = (
        f"Whole processes, from start to printed result; medians of {arguments.runs} runs in "
        "turns, after a warm-up. Peak: of the largest process, highest of all runs, in 10^6 bytes."
    )
    facts = "\n".join([*machine_facts(), *version_facts(environments)])
    return "\n\n".join(["# bboxqa agree: measured", f"`{shown_command()}`", facts, method])


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--source", type=Path, required=True, help="the annotated COCO file to replicate")
    add("--data", type=Path, required=True, metavar="DIR", help="where replicated files are kept")
    add("--sizes", type=int, nargs="+", default=[35_000, MIDDLE], metavar="N")
    cases = ("bbox", "polygon", "thresholds", "million")
    add("--cases", nargs="+", choices=cases, default=list(cases))
    add("--peers", nargs="*", choices=sorted(peers.PEERS), default=sorted(peers.PEERS))
    add("--runs", type=int, default=5, help="at least 5 for figures that are to be published")
    add("--slow-seconds", type=float, default=60.0, metavar="S")
    add("--slow-runs", type=int, default=3, help="runs of what is slower, its warm-up counted")
    add("--timeout", type=float, default=1800.0, metavar="S", help="for one run")
    add("--seed", type=int, default=0)
    add("--environments", type=Path, default=peers.default_environments(), metavar="DIR")
    add("--bboxqa", type=Path, default=Path(sys.executable).with_name(BBOXQA), metavar="PROGRAM")
    add("--out", type=Path, default=HERE / "results" / "agree.md", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.runs < 1 or arguments.slow_runs < 1:
        parser.error("--runs and --slow-runs must be at least 1")
    if not arguments.bboxqa.exists():
        parser.error(f"no bboxqa beside this Python ({arguments.bboxqa}); name it with --bboxqa")
    return arguments


def main() -> None:
    """Run the command line."""
    arguments = parse_arguments()
    parts = [report_head(arguments)]
    for make_case in planned_cases(arguments):
        case = make_case()
        parts.append(section(case, run_case(case, arguments), arguments))
        write_text(arguments.out, "\n\n".join(parts) + "\n")
        print(parts[-1] + "\n", flush=True)


if __name__ == "__main__":
    main()
