"""What `agree.py` measures: the commands of every case, and what is said of their times."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import peers
from results import Row, find, number, ratio, ratio_per_annotation

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

HERE = Path(__file__).resolve().parent
BBOXQA = "bboxqa"
NO_BOOTSTRAP = "bboxqa --bootstrap 0"
TEN_THRESHOLDS = "bboxqa, ten thresholds"
REFERENCES = (BBOXQA, NO_BOOTSTRAP)

MILLION = 1_000_000
MIDDLE = 176_000
ONE_THRESHOLD = ("0.5",)
THRESHOLDS = tuple(f"{0.5 + 0.05 * step:.2f}" for step in range(10))


@dataclass(frozen=True, slots=True)
class Job:
    """One command to be measured, or why it cannot be."""

    tool: str
    similarity: str
    file: Path
    command: tuple[str, ...]
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """Commands that are measured in turns, and what to say about them afterwards."""

    title: str
    jobs: tuple[Job, ...]
    remarks: Callable[[Sequence[Row]], list[str]]


def bboxqa_job(
    arguments: argparse.Namespace,
    file: Path,
    similarity: str,
    *,
    tool: str = BBOXQA,
    thresholds: Sequence[str] = ONE_THRESHOLD,
    bootstrap: bool = True,
) -> Job:
    """Give the command of bboxqa; with its default bootstrap or without one."""
    command = [str(arguments.bboxqa), "agree", str(file), "--similarity", similarity]
    for threshold in thresholds:
        command += ["--iou", threshold]
    command += ["--matcher", "recursive", "--missing", "category", "--format", "json"]
    if not bootstrap:
        command += ["--bootstrap", "0"]
    return Job(tool, similarity, file, tuple(command))


def bboxqa_jobs(arguments: argparse.Namespace, file: Path, similarity: str) -> list[Job]:
    """Give the commands of bboxqa for one threshold, with intervals and without."""
    return [
        bboxqa_job(arguments, file, similarity),
        bboxqa_job(arguments, file, similarity, tool=NO_BOOTSTRAP, bootstrap=False),
    ]


def peer_job(arguments: argparse.Namespace, name: str, file: Path, similarity: str) -> Job:
    """Give the command of a peer: our runner on the Python of the peer's environment."""
    try:
        python = peers.ensure(name, arguments.environments)
    except peers.PeerError as error:
        return Job(name, similarity, file, (), str(error))
    # -P: our folder is not put on the peer's import path.
    command = (str(python), "-P", str(HERE / f"run_{name}.py"), str(file))
    return Job(name, similarity, file, (*command, "--similarity", similarity, "--iou", "0.5"))


def data_file(arguments: argparse.Namespace, size: int) -> Path:
    """Give the replicated file of a size, generated if it is not there.

    The generator runs as a process of its own: its memory would count as everybody's least peak.
    """
    file: Path = arguments.data / f"lvis_{size}.json"
    if not file.exists():
        command = [sys.executable, str(HERE / "generate.py"), str(arguments.source)]
        command += ["--annotations", str(size), "--seed", str(arguments.seed), "--out", str(file)]
        subprocess.run(command, check=True)
    return file


def compare_case(arguments: argparse.Namespace, size: int, similarity: str) -> Case:
    """Give the comparison with the peers at one threshold."""
    file = data_file(arguments, size)
    jobs = bboxqa_jobs(arguments, file, similarity)
    jobs += [peer_job(arguments, name, file, similarity) for name in arguments.peers]
    title = f"{similarity}, one threshold, {size:,} annotations"
    return Case(title, tuple(jobs), compare_remarks)


def compare_remarks(rows: Sequence[Row]) -> list[str]:
    """Say how bboxqa compares with the faster peer."""
    done = [row for row in rows if row.tool in peers.PEERS and row.seconds is not None]
    if not done:
        return []
    fastest = min(done, key=lambda row: row.seconds or 0.0)
    ours = [ratio(fastest, find(rows, fastest, tool)) for tool in REFERENCES]
    if None in ours:
        return []
    with_intervals, without = (number(times, ".1f") for times in ours)
    remark = (
        f"The faster peer is {fastest.tool}: it takes {with_intervals} times as long as bboxqa, "
        f"{without} times as long as bboxqa without the bootstrap, which no peer has."
    )
    return [remark]


def million_case(arguments: argparse.Namespace, similarity: str) -> Case:
    """Give bboxqa alone at a million annotations, beside the middle size."""
    jobs = [
        job
        for size in (MIDDLE, MILLION)
        for job in bboxqa_jobs(arguments, data_file(arguments, size), similarity)
    ]
    return Case(f"{similarity}, a million annotations", tuple(jobs), million_remarks)


def million_remarks(rows: Sequence[Row]) -> list[str]:
    """Say how the time per annotation grows."""
    remarks = []
    for small in rows:
        for large in rows:
            if small.tool == large.tool and small.annotations < large.annotations:
                growth = number(ratio_per_annotation(large, small), ".2f")
                remarks.append(
                    f"{small.tool}: time per annotation at {large.annotations:,} is {growth} of "
                    f"that at {small.annotations:,}."
                )
    return remarks


def thresholds_case(arguments: argparse.Namespace, similarity: str) -> Case:
    """Give ten thresholds with intervals beside one threshold without."""
    file = data_file(arguments, MIDDLE)
    ten = bboxqa_job(arguments, file, similarity, tool=TEN_THRESHOLDS, thresholds=THRESHOLDS)
    jobs = (ten, *bboxqa_jobs(arguments, file, similarity))
    return Case(f"{similarity}, ten thresholds with intervals", jobs, thresholds_remarks)


def thresholds_remarks(rows: Sequence[Row]) -> list[str]:
    """Say what ten thresholds with intervals cost."""
    cost = number(ratio(rows[0], find(rows, rows[0], NO_BOOTSTRAP)), ".2f")
    return [f"Ten thresholds with intervals take {cost} times one threshold without."]


def planned_cases(arguments: argparse.Namespace) -> list[Callable[[], Case]]:
    """Give the chosen cases, each made (data, environments) only when its turn comes."""
    chosen = arguments.cases
    comparisons = [similarity for similarity in ("bbox", "polygon") if similarity in chosen]
    plan: list[Callable[[], Case]] = [
        partial(compare_case, arguments, size, similarity)
        for similarity in comparisons
        for size in arguments.sizes
    ]
    if "thresholds" in chosen:
        plan += [partial(thresholds_case, arguments, kind) for kind in ("bbox", "polygon")]
    if "million" in chosen:
        plan += [partial(million_case, arguments, kind) for kind in ("bbox", "polygon")]
    return plan
