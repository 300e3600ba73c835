"""Examples of panoptic files for rules."""

import json


def panoptic_example(**segment: object) -> str:
    """Return a panoptic file with two segments; `segment` replaces keys of the second.

    Examples
    --------
    >>> panoptic_example(area=-1).splitlines()[-1]
    '{"id": 8, "category_id": 1, "area": -1, "iscrowd": 0, "bbox": [4, 0, 3, 3]}]}]}'
    """
    first = {"id": 7, "category_id": 1, "area": 9, "iscrowd": 0, "bbox": [0, 0, 3, 3]}
    second = {**first, "id": 8, "bbox": [4, 0, 3, 3], **segment}
    return (
        '{"images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 5}],\n'
        '"categories": [{"id": 1, "name": "cat"}],\n'
        '"annotations": [{"image_id": 1, "file_name": "a.png", "segments_info": [\n'
        f"{json.dumps(first)},\n{json.dumps(second)}]}}]}}"
    )
