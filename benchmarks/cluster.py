"""Measure what a cluster costs: work, memory and bytes of a part, and the whole by Dask.

Seconds are those of the processor, as one thread of a worker needs them, so that whatever else
runs on the machine changes little; those of `--whole` are of the clock.

    python benchmarks/cluster.py /tmp/bench/lvis_176000.json --similarity bbox
"""

import argparse
import json
import multiprocessing
import os
import pickle
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bboxqa.batch import workers
from bboxqa.geometry.registry import needs_outlines
from bboxqa.model.annotations import Dataset
from bboxqa.pipelines.agree import agree_with
from bboxqa.pipelines.counting import (
    AgreementCounts,
    ImagePart,
    count_part,
    join_counted,
    split_images,
)
from bboxqa.pipelines.read import agree_settings_from, read_coco
from bboxqa.pipelines.validate import validate
from bboxqa.report.agreement_summary import summary
from bboxqa.report.result_files import write_folder


def resident() -> float:
    """Return the megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def peak() -> float:
    """Return the most megabytes that this process has had."""
    # What `getrusage` tells begins with what the process before this one had.
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1e3


def whole_of(data: Dataset) -> ImagePart:
    """Return all images; in those of the benchmark somebody drew something."""
    return ImagePart(data, np.zeros(0, np.int32))


def sizes(file: Path, similarity: str, annotator_key: str | None) -> dict[str, Any]:
    """Return the cost of each stage, in this process and one thread."""
    settings = agree_settings_from({"similarity": similarity, "bootstrap": 1000})
    outlines = needs_outlines(similarity)
    size = workers._OUTLINES if outlines else workers._BOXES  # noqa: SLF001
    begun = time.process_time()
    data = read_coco(file, annotator_key=annotator_key, segmentation=outlines)
    result: dict[str, Any] = {"read_s": time.process_time() - begun, "read_peak_mb": peak()}
    n = len(data.annotations)
    begun = time.process_time()
    nameless = ("",) * len(data.image_names)
    sent_data = replace(data, image_names=nameless, sources=(), notes=(), attribution="")
    cut = list(split_images(whole_of(sent_data), -(-n // size)))
    result |= {"annotations": n, "parts": len(cut), "split_s": time.process_time() - begun}
    sent = [len(pickle.dumps(part, 5)) for part in cut]
    counted, times = [], []
    for part in cut:
        begun = time.process_time()
        counted.append(count_part(part, settings, greedy=False))
        times.append(time.process_time() - begun)
    back = [len(pickle.dumps(part, 5)) for part in counted]
    begun = time.process_time()
    whole = join_counted(counted)
    result |= {
        "bytes_per_annotation_sent": sum(sent) / n,
        "bytes_per_annotation_back": sum(back) / n,
        "match_and_count_s": sum(times),
        "match_and_count_s_per_part": max(times),
        "join_s": time.process_time() - begun,
        "joined_mb": len(pickle.dumps(whole, 5)) / 1e6,
    }

    def known(*_: Any, **__: Any) -> AgreementCounts:
        return whole

    begun = time.process_time()
    measured = agree_with(data, settings, count_all=known)
    result |= {"bootstrap_and_tables_s": time.process_time() - begun, "peak_mb": peak()}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        write_folder(measured, summary(measured), Path(folder) / "result")
        return result | {"write_s": time.process_time() - begun}


def validation(file: Path, *_: Any) -> dict[str, float]:
    """Return what looking at the file costs, with as many findings as a batch lists."""
    begun = time.process_time()
    validate(file, max_findings=1000)
    return {"validate_s": time.process_time() - begun, "validate_peak_mb": peak()}


def part_memory(file: Path, similarity: str, annotator_key: str | None) -> dict[str, float]:
    """Return what one part takes of a process that has nothing else."""
    settings = agree_settings_from({"similarity": similarity})
    outlines = needs_outlines(similarity)
    size = workers._OUTLINES if outlines else workers._BOXES  # noqa: SLF001
    data = read_coco(file, annotator_key=annotator_key, segmentation=outlines)
    part = next(split_images(whole_of(data), -(-len(data.annotations) // size)))
    text = pickle.dumps(part, 5)
    with tempfile.NamedTemporaryFile() as stored:
        Path(stored.name).write_bytes(text)
        program = (
            "import pickle, sys; from benchmarks_cluster import *; "
            "from bboxqa.pipelines.counting import count_part; a = resident(); "
            f"part = pickle.loads(open({stored.name!r}, 'rb').read()); b = resident(); "
            f"settings = agree_settings_from({{'similarity': {similarity!r}}}); "
            "count_part(part, settings, greedy=False); "
            "print(json.dumps({'empty_mb': a, 'part_mb': b - a, 'peak_mb': peak()}))"
        )
        folder = Path(tempfile.mkdtemp())
        shutil.copy(__file__, folder / "benchmarks_cluster.py")
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=True, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(folder)},
        )  # fmt: skip
        shutil.rmtree(folder)
    del settings
    measured: dict[str, float] = json.loads(done.stdout)
    return measured | {"part_annotations": len(part.data.annotations), "part_bytes": len(text)}


def whole(file: Path, similarity: str, scheduler: str | None) -> float:
    """Return the seconds of a batch of one project."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root" / "project"
        root.mkdir(parents=True)
        (root / "export.json").symlink_to(file.resolve())
        config = Path(folder) / "config.toml"
        config.write_text(f'similarity = "{similarity}"\nbootstrap = 1000\n', "utf-8")
        engine = ["--jobs", "1"] if scheduler is None else ["--scheduler", scheduler]
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "bboxqa", "batch", str(root.parent), "--config", str(config),
             "--out", str(Path(folder) / "out"), "--fail-on", "error", *engine],
            check=False, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return time.perf_counter() - begun


def in_worker(work: Callable[..., dict[str, Any]], *what: Any) -> None:
    """Print what is measured in a process as a worker is: nothing beside it, and one thread."""
    process = multiprocessing.get_context("fork").Process(
        target=lambda: print(json.dumps(work(*what)), flush=True), daemon=True
    )
    process.start()
    process.join()


def main() -> None:
    """Print the measurements as json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--similarity", default="bbox")
    parser.add_argument("--annotator-key")
    parser.add_argument("--whole", nargs="*", default=[], help="schedulers; 'none' is a local run")
    given = parser.parse_args()
    what = given.file, given.similarity, given.annotator_key
    if given.whole:
        for name in given.whole:
            seconds = whole(given.file, given.similarity, None if name == "none" else name)
            print(json.dumps({"scheduler": name, "seconds": seconds}), flush=True)
        return
    for work in (validation, part_memory, sizes):
        in_worker(work, *what)


if __name__ == "__main__":
    main()
