"""The format of DOTA's text labels: each folder or archive has one annotator."""

from bboxqa.formats.dota.dota_heads import DOTA_FOLDERS
from bboxqa.formats.format import translated_format

DOTA = translated_format(
    "dota",
    (),
    DOTA_FOLDERS.is_archive,
    "bboxqa.formats.dota.dota_records:translate_dota",
    recognises_folder=DOTA_FOLDERS.is_one_source,
    folders_in_parts=DOTA_FOLDERS.folders_in_parts,
)
"""DOTA's text labels, also as written by mmrotate and Roboflow's YOLOv5 OBB."""
