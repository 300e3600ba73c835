"""Files of Label Studio, made as its exports are."""

import json

WIDTH, HEIGHT = 200, 100


def box(x, y, width, height, label="cat", **more):
    """Return a rectangle in percent, with the keys of an export."""
    value = {"x": x, "y": y, "width": width, "height": height, "rotation": 0}
    value |= more.pop("value", {})
    labels = label if isinstance(label, list) else [label]
    return result("rectanglelabels", {**value, "rectanglelabels": labels}, **more)


def result(kind, value, **more):
    """Return a result of any type."""
    return {
        "id": f"r{json.dumps(value)}",
        "type": kind,
        "value": value,
        "original_width": WIDTH,
        "original_height": HEIGHT,
        "to_name": "image",
        "from_name": "label",
        "origin": "manual",
    } | more


def work(who, *results, **more):
    """Return an annotation."""
    return {"completed_by": who, "result": list(results), "was_cancelled": False} | more


def task(number, *works, **more):
    """Return a task with its annotations."""
    data = {"image": f"/data/upload/1/0a1b2c3d-{number}.jpg"}
    return {"id": number, "annotations": list(works), "data": data, "predictions": []} | more


def written(path, *tasks):
    """Write tasks to a file, and return its path."""
    path.write_text(json.dumps(list(tasks)))
    return path
