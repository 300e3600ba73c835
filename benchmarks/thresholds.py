"""Suggested thresholds of `bboxqa` beside those of KaLOS's principled configuration.

    python benchmarks/thresholds.py FILE [FILE ...]

Prints a table of `docs/disagreement.md`, for IoU of boxes. KaLOS writes the disagreements that it
observes and expects to a file, and prints its threshold (1 - tau*). `steepest` is where these
disagreements are furthest apart.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from peers import default_environments, ensure

import bboxqa


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--environments", type=Path, default=default_environments(), metavar="DIR")
    arguments = parser.parse_args()
    command = ensure("kalos", arguments.environments).with_name("kalos")
    print("| file | bboxqa | distance | KaLOS | distance | steepest |")
    print("| --- | --- | --- | --- | --- | --- |")
    for file in arguments.files:
        print(f"| `{file.name}` | {own(file)} | {of_kalos(file, command)} |", flush=True)


def own(file: Path) -> str:
    """Return the threshold that `bboxqa` suggests, those that do about as well, and the distance.

    The distance is the Kolmogorov-Smirnov distance of observed and expected similarities.
    """
    rows = bboxqa.agree(bboxqa.read_coco(file)).diagnose().tables["suggested_threshold"]
    threshold, lowest, highest, distance = (
        float(rows[name][0]) for name in ("threshold", "lowest", "highest", "distance")
    )
    return f"{threshold:g} ({lowest:g} to {highest:g}) | {distance:.2f}"


def of_kalos(file: Path, command: Path) -> str:
    """Return the threshold of KaLOS, its distance, and where disagreements are furthest apart."""
    with tempfile.TemporaryDirectory() as folder:
        source, found = Path(folder, "source.json"), Path(folder, "found.json")
        source.write_text(json.dumps(with_raters(json.loads(file.read_text("utf-8")))), "utf-8")
        run(
            command, "calc-disagreement", "--cfg.annotation_file", source,
            "--cfg.output_file", found, "--cfg.similarity_func", "bbox_iou_similarity",
        )  # fmt: skip
        said = run(command, "configure", "--cfg.disagreement_files+", found)
        disagreements = json.loads(found.read_text("utf-8"))
    distance, tau = re.findall(r"KS score of ([\d.]+) and Tau\*=([\d.]+)", said)[-1]
    apart = steepest(np.array(disagreements["d_o"]), np.array(disagreements["d_e"]))
    return f"{1 - float(tau):.2f} | {float(distance):.2f} | {apart:.2f}"


def with_raters(document: dict) -> dict:
    """Return a document with the keys that KaLOS reads: who drew each annotation, who was asked."""
    of_image: dict = {}
    for annotation in document["annotations"]:
        annotation["rater_id"] = str(annotation.get("rater_id", annotation.get("annotator")))
        of_image.setdefault(annotation["image_id"], set()).add(annotation["rater_id"])
    for image in document["images"]:
        asked = image.get("rater_list") or image.get("annotators")
        image["rater_list"] = asked or sorted(of_image.get(image["id"], ()))
    return document


def run(command: Path, *arguments: object) -> str:
    """Run KaLOS and return what it prints."""
    return subprocess.run(
        [str(command), *map(str, arguments)],
        check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ).stdout  # fmt: skip


def steepest(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the similarity at which the two distributions of disagreements are furthest apart."""
    places = np.linspace(0, 1, 2001)
    shares = [
        np.searchsorted(np.sort(each), places, side="right") / len(each)
        for each in (observed, expected)
    ]
    return 1 - float(places[np.argmax(shares[0] - shares[1])])


if __name__ == "__main__":
    main()
