"""Files of CVAT, made as its exports are."""

LABELS = ("cat", "dog")


def head(assignee="", owner="admin", kind="task", labels=LABELS, more="", number=7):
    """Return the head of a task or job; an empty `kind` is none."""
    named = "".join(f"<label><name>{name}</name></label>" for name in labels)
    work = (
        f"<{kind}>\n<id>{number}</id><mode>annotation</mode>{more}\n"
        f"<owner><username>{owner}</username><email>{owner}@x.org</email></owner>\n"
        f"<assignee>{_person(assignee)}</assignee>\n<labels>{named}</labels>\n</{kind}>\n"
    )
    return f"<version>1.1</version>\n<meta>\n{work if kind else ''}<dumped>2024</dumped>\n</meta>\n"


def _person(name):
    return f"<username>{name}</username><email></email>" if name else ""


def project(*tasks, labels=LABELS):
    """Return the head of a project with tasks of (id, assignee, more)."""
    listed = "".join(
        f"<task><id>{number}</id>{more}<owner><username>admin</username></owner>"
        f"<assignee>{_person(who)}</assignee></task>\n"
        for number, who, more in tasks
    )
    named = "".join(f"<label><name>{name}</name></label>" for name in labels)
    inside = f"<id>1</id>\n<tasks>\n{listed}</tasks>\n<labels>{named}</labels>"
    return f"<version>1.1</version>\n<meta>\n<project>{inside}</project></meta>\n"


def box(x=10, y=10, right=30, bottom=40, label="cat", inside="", **more):
    """Return a box as CVAT writes it."""
    return (
        f'    <box{_label(label)} source="manual" occluded="0" xtl="{x:.2f}" ytl="{y:.2f}" '
        f'xbr="{right:.2f}" ybr="{bottom:.2f}"{_keys(more)} z_order="0">{inside}\n    </box>\n'
    )


def shape(name, label="cat", inside="", **more):
    """Return any element with a label."""
    return f"    <{name}{_label(label)}{_keys(more)}>{inside}</{name}>\n"


def _label(label):
    return "" if label is None else f' label="{label}"'


def _keys(more):
    return "".join(f' {key}="{value}"' for key, value in more.items())


def image(name="a.jpg", *shapes, number=0, width=100, height=80, **more):
    """Return an image with its shapes."""
    start = f'  <image id="{number}" name="{name}" width="{width}" height="{height}"{_keys(more)}>'
    return f"{start}\n{''.join(shapes)}  </image>\n"


def track(number, *shapes, label="cat", **more):
    """Return a track."""
    return (
        f'  <track id="{number}" label="{label}" source="manual"{_keys(more)}>\n'
        f"{''.join(shapes)}  </track>\n"
    )


def document(*parts):
    """Return a whole file."""
    start = '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n'
    return f"{start}{''.join(parts)}</annotations>\n"


def written(path, *parts):
    """Write a file, and return its path."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(document(*parts))
    return path
