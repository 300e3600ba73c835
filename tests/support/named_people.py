"""Sources that name people by their e-mail, each in the way of its tool; and where names are."""

import json

from support import studio
from support.converted import document, written
from support.tool_files import text_of, write

PEOPLE = (
    "ada.lovelace@example.org",
    "Bob Mc'Arthur, jr",
    "grace-hopper-who-has-a-very-long-name-indeed@navy.example.org",
)
MARKS = ("lovelace", "arthur", "hopper", "navy")
"""Parts of the names that stand for nothing else."""


def key_on_annotations(folder):
    """Return a COCO file of all, with defects that show names in findings."""
    content = document(_images(PEOPLE), [*_drawn(PEOPLE), (0, f"{PEOPLE[0]} ", 0, [150, 9, 90, 9])])
    for each in content["annotations"]:
        each["note"] = f"checked by {each['annotator']}"
    content["images"][0]["annotators"] = [*PEOPLE, f"{PEOPLE[0]} "]
    return written(folder / "export.json", content)


def lists_on_annotations(folder):
    """Return a COCO file with a list, and an object, in place of an annotator."""
    content = document(_images(PEOPLE), _drawn(PEOPLE))
    content["annotations"][0]["annotator"] = [*PEOPLE]
    content["annotations"][1]["annotator"] = {"who": PEOPLE[2], "checked by": PEOPLE[0]}
    return written(folder / "lists.json", content)


def broken_key_on_annotations(folder):
    """Return a COCO file that is refused for a box."""
    content = json.loads(key_on_annotations(folder).read_bytes())
    content["annotations"][0]["bbox"] = [1, 2, None, 4]
    return written(folder / "broken.json", content)


def files_named_after_people(folder):
    """Return a folder of COCO files, one of each annotator, whose boxes leave their image."""
    for number, who in enumerate(PEOPLE):
        content = document(_images(None), _drawn([who]))
        for each in content["annotations"]:
            del each["annotator"]
            each["bbox"][0] += 150 + number / 8
        written(folder / f"{who}.json", content)
    return folder


def broken_file_named_after_a_person(folder):
    """Return a folder of such files, one of which ends early."""
    path = files_named_after_people(folder) / f"{PEOPLE[1]}.json"
    path.write_bytes(path.read_bytes()[:200])
    return folder


def folders_named_after_people(folder):
    """Return a folder of YOLO labels, a folder of each annotator, whose image sizes are unknown."""
    for who in PEOPLE:
        text = "0 0.5 0.5 0.2 1.2\n"
        write(folder / who, **{"data.yaml": "names: [cat, dog]\n", "labels/0.txt": text})
    return folder


def jobs_of_assignees(folder):
    """Return a folder of CVAT XML, a job of each assignee, with boxes that leave their image."""
    for number, who in enumerate(PEOPLE):
        box = (1, 1, 49 + number, 119)
        text = text_of("cvat", "0.jpg", box, size=(90, 90), who=who)
        write(folder, **{f"job{number}.xml": text})
    return folder


def tasks_completed_by(folder):
    """Return an export of Label Studio, with boxes that leave their image."""
    works = [
        studio.work({"id": n, "email": who, "first_name": who}, studio.box(1, 1, 50 + n, 140))
        for n, who in enumerate(PEOPLE)
    ]
    return studio.written(folder / "tasks.json", studio.task(1, *works))


SOURCES = (
    key_on_annotations,
    lists_on_annotations,
    broken_key_on_annotations,
    files_named_after_people,
    broken_file_named_after_a_person,
    folders_named_after_people,
    jobs_of_assignees,
    tasks_completed_by,
)


def names_shown(outcome, *folders):
    """Return where output, error messages, and the names and bytes of files show a person."""
    texts = {"output": outcome.output}
    for folder in folders:
        for path in folder.rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            texts[str(path.relative_to(folder))] = f"{path.name} {content.decode(errors='replace')}"
    return [where for where, text in texts.items() if any(mark in text.lower() for mark in MARKS)]


def _images(asked):
    return [(f"{place}.jpg", 200, 100, asked) for place in range(5)]


def _drawn(people):
    return [
        (place, who, (place + number) % 2, [10, 10, 50 - 9 * number, 40])
        for place in range(5)
        for number, who in enumerate(people)
    ]
