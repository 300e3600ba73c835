"""Projects made from a seed: two annotators, about eleven boxes an image that differ a little."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

N_CATEGORIES = 8
SIDE = 640


def write_project(folder: Path, seed: int, n_images: int) -> int:
    """Write one project as it is made; give the number of its annotations.

    The memory needed does not grow with the number of images.
    """
    generator = np.random.default_rng([0, seed])
    folder.mkdir(parents=True, exist_ok=True)
    n_annotations = 0
    with (folder / "annotations.json").open("w", encoding="utf-8") as file:
        file.write('{"images": [')
        for number in range(1, n_images + 1):
            image = {"id": number, "file_name": f"{number:05}.jpg", "width": SIDE, "height": SIDE,
                     "annotators": ["ann", "bob"]}  # fmt: skip
            file.write((", " if number > 1 else "") + json.dumps(image))
        file.write('], "annotations": [')
        for number in range(1, n_images + 1):
            for record in _annotations(generator, number):
                file.write(", " if n_annotations else "")
                n_annotations += 1
                file.write(json.dumps({"id": n_annotations, **record}))
        categories = [{"id": c, "name": f"category {c}"} for c in range(1, N_CATEGORIES + 1)]
        file.write(f'], "categories": {json.dumps(categories)}}}')
    return n_annotations


def _annotations(generator: np.random.Generator, image: int) -> list[dict[str, object]]:
    records: list[dict[str, object]] = []
    for _ in range(int(generator.poisson(6))):
        side = generator.uniform(20, 120, 2)
        corner = generator.uniform(0, SIDE - side - 4)
        category = int(generator.integers(1, N_CATEGORIES + 1))
        for name in ("ann", "bob"):
            if generator.random() < 0.1:
                continue
            box = np.round([*(corner + generator.uniform(0, 4, 2)), *side], 2).tolist()
            said = category if generator.random() < 0.9 else 1 + category % N_CATEGORIES
            records.append(
                {"image_id": image, "category_id": said, "annotator": name, "bbox": box,
                 "area": box[2] * box[3], "iscrowd": 0}
            )  # fmt: skip
    return records
