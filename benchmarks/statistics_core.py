"""Measure coefficients of agreement beside their peers, at the largest size that each survives.

    python benchmarks/statistics_core.py

Sizes grow tenfold until a tool takes longer than --timeout or more than 16 GB. Every tool runs in
its own process and environment, six times in it, the first to warm up.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

import peers
from results import machine_facts, version_facts, write_text

HERE = Path(__file__).resolve().parent
JOBS: dict[str, tuple[str, ...]] = {
    "alpha": ("bboxqa", "krippendorff", "nltk"),
    "alpha80": ("bboxqa", "krippendorff", "nltk"),
    "pairs": ("bboxqa", "sklearn", "statsmodels"),
    "sure": ("bboxqa",),
    "fleiss": ("bboxqa", "statsmodels"),
    "labels": ("bboxqa", "pandas"),
    "bootstrap": ("bboxqa",),
}
SAID = {
    "alpha": "nominal alpha, 3 annotators, 5 % missing, 1,203 categories",
    "alpha80": "nominal alpha, 3 annotators, 5 % missing, 80 categories",
    "pairs": "Cohen's kappa of all 190 pairs of 20 annotators, 5 categories",
    "sure": "the same from ratings, with standard errors, intervals, and the jackknife of the mean",
    "fleiss": "Fleiss' kappa, 3 annotators, 80 categories, from ratings",
    "labels": "coding labels of 3 annotators",
    "bootstrap": "1,000 replicates of alpha, ten units an image, 1,203 categories",
}
SIZES = (1_000, 10_000, 100_000, 1_000_000)
LARGEST = {"pairs": 100_000, "sure": 100_000}


def run_one(python: Path, tool: str, case: str, size: int, timeout: float) -> dict[str, object]:
    """Give what one process measured, or why it did not."""
    command = [str(python), str(HERE / "run_statistics.py"), tool, case, str(size)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped after {timeout:g} s"}
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return {"failed": (lines or [f"exit status {done.returncode}"])[-1][:90]}
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cases", nargs="+", choices=tuple(JOBS), default=list(JOBS))
    add("--timeout", type=float, default=120.0, metavar="S", help="for the six runs of a tool")
    add("--environments", type=Path, default=peers.default_environments(), metavar="DIR")
    add("--out", type=Path, default=HERE / "results" / "statistics.md", metavar="FILE")
    arguments = parser.parse_args()
    peer = peers.ensure("statistics", arguments.environments)
    names = ("krippendorff", "nltk", "scikit-learn", "statsmodels", "numpy", "scipy")
    found = {"bboxqa": peers.versions(Path(sys.executable)), "peers": peers.versions(peer, names)}
    lines = [*machine_facts(), *version_facts(found), ""]
    lines += ["| what | units | tool | median s | min-max s | more memory, MB |"]
    lines += ["| --- | ---: | --- | ---: | ---: | ---: |"]
    for case in arguments.cases:
        gone: set[str] = set()
        for size in SIZES:
            for tool in JOBS[case]:
                if tool in gone or size > LARGEST.get(case, size):
                    continue
                python = Path(sys.executable) if tool == "bboxqa" else peer
                done = run_one(python, tool, case, size, arguments.timeout)
                if "failed" in done:
                    gone.add(tool)
                    cells = [str(done["failed"]), "", ""]
                else:
                    seconds = done["seconds"]
                    cells = [f"{statistics.median(seconds):.4f}"]  # type: ignore[arg-type]
                    cells += [f"{min(seconds):.4f}-{max(seconds):.4f}"]  # type: ignore[call-overload]
                    cells += [f"{done['extra_mb']:,.0f}"]
                line = f"| {SAID[case]} | {size:,} | {tool} | {' | '.join(cells)} |"
                print(line, file=sys.stderr, flush=True)
                lines.append(line)
                write_text(arguments.out, "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
