"""Measure `bboxqa validate` beside its peers, whole processes from start to the last line.

    python benchmarks/validate.py --source FILE --data DIR

The tools take turns (A B C A B C …) after one warm-up each. What they print is thrown away; that
they find something, and so end with another status than 0, is no failure here.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

import peers
from measure import MEGABYTE, Measurement, measure
from results import machine_facts, version_facts, write_text

HERE = Path(__file__).resolve().parent
COLUMNS = ("tool", "file", "median s", "min-max s", "runs", "peak MB", "÷ bboxqa")


def data_file(arguments: argparse.Namespace, kind: str) -> Path:
    """Give the replicated file, with its outlines or without, made if it is not there."""
    outlined: Path = arguments.data / f"lvis_{arguments.size}.json"
    if not outlined.exists():
        command = [sys.executable, str(HERE / "generate.py"), str(arguments.source)]
        command += ["--annotations", str(arguments.size), "--seed", "0", "--out", str(outlined)]
        subprocess.run(command, check=True)
    boxes: Path = arguments.data / f"boxes_{arguments.size}.json"
    if kind == "boxes" and not boxes.exists():
        # In a process of its own: its memory would count as everybody's least peak.
        strip = (
            "import json, sys; d = json.load(open(sys.argv[1]))\n"
            "for a in d['annotations']: a.pop('segmentation')\n"
            "json.dump(d, open(sys.argv[2], 'w'), separators=(',', ':'))"
        )
        subprocess.run([sys.executable, "-c", strip, str(outlined), str(boxes)], check=True)
    return boxes if kind == "boxes" else outlined


def commands(arguments: argparse.Namespace, file: Path) -> dict[str, list[str]]:
    """Give the command of each tool."""
    python = {name: peers.ensure(name, arguments.environments) for name in peers.VALIDATORS}
    hotcoco = python["hotcoco"].with_name("coco")
    return {
        "bboxqa": [str(arguments.bboxqa), "validate", str(file), "--statistics", "--exit-zero"],
        "hotcoco": [str(hotcoco), "healthcheck", str(file)],
        # Without looking for the images, as the others do.
        "kwcoco": [
            str(python["kwcoco"]), "-m", "kwcoco", "validate", str(file), "--missing=False",
        ],
    }  # fmt: skip


def row(tool: str, kind: str, runs: list[Measurement], reference: float) -> str:
    """Give a line of the table."""
    seconds = [run.wall_seconds for run in runs]
    median = statistics.median(seconds)
    peak = max(run.peak_bytes for run in runs) / MEGABYTE
    spread = f"{min(seconds):.2f}-{max(seconds):.2f}"
    cells = (tool, kind, f"{median:.2f}", spread, str(len(runs)), f"{peak:,.0f}")
    return "| " + " | ".join((*cells, f"{median / reference:.2f}")) + " |"


def run_case(arguments: argparse.Namespace, kind: str) -> list[str]:
    """Run all tools in turns; give the lines of their table."""
    runs: dict[str, list[Measurement]] = {}
    jobs = commands(arguments, data_file(arguments, kind))
    for turn in range(arguments.runs + 1):
        for tool, command in jobs.items():
            if tool not in arguments.tools:
                continue
            done = measure(command, arguments.timeout)
            if done.exit_status not in (0, 1):
                sys.exit(f"{tool}: {done.last_error_line}")
            print(f"{kind} {tool} {done.wall_seconds:.2f} s", file=sys.stderr, flush=True)
            if turn:
                runs.setdefault(tool, []).append(done)
    reference = statistics.median(run.wall_seconds for run in runs["bboxqa"])
    return [row(tool, kind, measured, reference) for tool, measured in runs.items()]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--source", type=Path, required=True, help="the annotated COCO file to replicate")
    add("--data", type=Path, required=True, metavar="DIR", help="where replicated files are kept")
    add("--size", type=int, default=1_000_000, metavar="N")
    kinds = ("boxes", "polygons")
    add("--kinds", nargs="+", choices=kinds, default=list(kinds))
    tools = ("bboxqa", *peers.VALIDATORS)
    add("--tools", nargs="+", choices=tools, default=list(tools))
    add("--runs", type=int, default=5)
    add("--timeout", type=float, default=1800.0, metavar="S", help="for one run")
    add("--environments", type=Path, default=peers.default_environments(), metavar="DIR")
    add("--bboxqa", type=Path, default=Path(sys.executable).with_name("bboxqa"))
    add("--out", type=Path, default=HERE / "results" / "validate.md", metavar="FILE")
    arguments = parser.parse_args()
    found = {"bboxqa": peers.versions(peers.python_of(arguments.bboxqa.parent.parent))}
    found |= {
        name: peers.versions(peers.ensure(name, arguments.environments))
        for name in peers.VALIDATORS
        if name in arguments.tools
    }
    lines = [*machine_facts(), *version_facts(found)]
    lines += ["", "| " + " | ".join(COLUMNS) + " |", "| " + " | ".join(["---"] * 7) + " |"]
    for kind in arguments.kinds:
        lines += run_case(arguments, kind)
        write_text(arguments.out, "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
