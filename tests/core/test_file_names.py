"""Folders, and links that lead nowhere."""

import os

from bboxqa.core.file_names import is_file, is_folder


def test_links_are_what_they_lead_to(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for name, target in [
        ("to_folder", "folder"), ("to_file", "file"), ("to_nothing", "nowhere"), ("loop", "loop"),
    ]:  # fmt: skip
        (tmp_path / name).symlink_to(target)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to("pipe")
    with os.scandir(tmp_path) as found:
        entries = [*found]
    assert {each.name for each in entries if is_folder(each)} == {"folder", "to_folder"}
    files = {each.name for each in entries if is_file(each)}
    assert files == {"file", "to_file", "to_nothing", "loop"}
