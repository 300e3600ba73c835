"""Compute one alpha with kalphacv and print it; run by the Python of kalphacv's own environment.

    python benchmarks/run_kalphacv.py FILE --similarity bbox --iou 0.5

kalphacv gives the mean over images only, and has no command line where it is installed by pip.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

MODES = {"bbox": "bbox", "polygon": "segm"}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--similarity", choices=sorted(MODES), required=True)
    parser.add_argument("--iou", type=float, default=0.5)
    arguments = parser.parse_args()

    from kalphacv import calculate_iaa_from_annotations

    alphas = calculate_iaa_from_annotations(
        mode=MODES[arguments.similarity],
        source_annotation_path=str(arguments.file),
        images_rater_key="rater_list",
        annotations_rater_key="rater_id",
        iou_thresholds=[arguments.iou],
        silent=True,
    )
    print(json.dumps({"alpha": None, "mean_image_alpha": float(alphas[arguments.iou])}))


if __name__ == "__main__":
    main()
