"""Compute one alpha with KaLOS and print it; run by the Python of KaLOS's own environment.

    python benchmarks/run_kalos.py FILE --similarity bbox --iou 0.5

The function call is leaner than the command line of KaLOS, which parses a configuration and logs.
No diagnostics, no plots.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

SIMILARITIES = {"bbox": "bbox_iou_similarity", "polygon": "segm_iou_similarity"}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--similarity", choices=sorted(SIMILARITIES), required=True)
    parser.add_argument("--iou", type=float, default=0.5)
    parser.add_argument(
        "--method", default="shm", help="shm (the fastest of them), greedy, ahc, mgm"
    )
    parser.add_argument("--cost", default="negative_score", help="or category_lenient")
    arguments = parser.parse_args()

    from kalos.iaa.core import calculate_iaa
    from kalos.utils.data_loading import load_and_preprocess_data

    data = load_and_preprocess_data(arguments.file, "coco-json")
    mean_image_alpha, pooled_alpha, *_ = calculate_iaa(
        processed_data=data["processed_data"],
        categories=data["categories"],
        method=arguments.method,
        threshold_func=SIMILARITIES[arguments.similarity],
        cost_func=arguments.cost,
        similarity_threshold=arguments.iou,
        calculate_vitality=False,
        calculate_difficulty=False,
        collaboration_clusters=False,
        all_raters=data["all_raters"],
    )
    print(json.dumps({"alpha": float(pooled_alpha), "mean_image_alpha": float(mean_image_alpha)}))


if __name__ == "__main__":
    main()
