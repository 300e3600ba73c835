"""Names of categories: what they are renamed to, and which are variants of one name."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations

import msgspec

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import clean, nearest
from bboxqa.formats.annotations.columns import AnnotationFile

_SHOWN = 3
_MAP = "--map "


def with_category_map(
    files: Sequence[AnnotationFile], category_map: Mapping[str, str]
) -> list[AnnotationFile]:
    """Return files whose categories have the names that they are mapped to.

    Raises ConfigError if there is no category of a name, nor of what it is mapped to.
    """
    if not category_map:
        return list(files)
    known = {clean(category.name) for file in files for category in file.categories}
    for name, other in category_map.items():
        if not known & {name, other}:
            raise ConfigError(f"--map names {name!r}, which is no category{nearest(name, known)}")
    return [
        replace(
            file,
            categories=[
                msgspec.structs.replace(
                    each, name=category_map.get(clean(each.name), each.name)
                )
                for each in file.categories
            ],
        )
        for file in files
    ]  # fmt: skip


def unused_map_notes(files: Sequence[AnnotationFile], category_map: Mapping[str, str]) -> list[str]:
    """Return a note for each name that is mapped, but is no category."""
    known = {clean(category.name) for file in files for category in file.categories}
    return [
        f"{map_options({name: other})}: no category is called {name!r}"
        f"{nearest(name, known - {other})}"
        for name, other in category_map.items()
        if name not in known
    ]


def map_notes(notes: Iterable[str]) -> Iterator[str]:
    """Yield the notes of `unused_map_notes` among all those on a data set."""
    return (note for note in notes if note.startswith(_MAP))


def supercategories(files: Sequence[AnnotationFile], names: Iterable[str]) -> tuple[str, ...]:
    """Return the supercategory of each category, by the first file that names one.

    It is empty where none does; the tuple is where this holds for all.
    """
    found: dict[str, str] = {}
    for file in files:
        for category in file.categories:
            if isinstance(category.supercategory, str):
                found.setdefault(clean(category.name), clean(category.supercategory))
    of_names = tuple(found.get(name, "") for name in names)
    return of_names if any(of_names) else ()


def renamed_categories(
    files: Sequence[AnnotationFile],
) -> Iterator[tuple[AnnotationFile, dict[str, str], list[str]]]:
    """Yield files with own ids whose names differ in another file, where neither has both names.

    With each come the other name of each such name, and the problems in words.
    """
    tables: list[tuple[str, dict[int | str, str]]] = []
    for file in (each for each in files if not each.numbers_categories):
        table = {category.id: clean(category.name) for category in file.categories}
        for name, before in tables:
            names, names_before = set(table.values()), set(before.values())
            other = {
                number: label
                for number, label in table.items()
                if label not in names_before
                and before.get(number, label) not in names | {label}
            }  # fmt: skip
            problems = [
                f"category {number} is {label!r}; in {name} it is {before[number]!r}, and "
                "neither file has both names"
                for number, label in other.items()
            ]
            yield file, {label: before[number] for number, label in other.items()}, problems
        if all(table != before for _, before in tables):
            tables.append((file.source.name, table))


def variant_remark(users: Mapping[str, AbstractSet[int]]) -> str:
    """Return which categories differ by case or blanks only, and how to join them; or nothing.

    `users` are the annotators who used each category: one who uses two variants may mean two
    things, such as the letters A and a.

    Examples
    --------
    >>> print(variant_remark({"cat": {0}, "Cat": {1}, "dog": {0, 1}, "Dog": {0}}))
    categories 'cat' and 'Cat' differ by case or blanks only, and count as different; as one: \
--map Cat=cat
    """
    groups: dict[str, list[str]] = {}
    for name in users:
        groups.setdefault(" ".join(name.split()).casefold(), []).append(name)
    variants = [
        group
        for group in groups.values()
        if len(group) > 1 and all(users[a].isdisjoint(users[b]) for a, b in combinations(group, 2))
    ]
    if not variants:
        return ""
    shown = ", ".join(" and ".join(map(repr, group)) for group in variants[:_SHOWN])
    more = f" and {len(variants) - _SHOWN:,} more" if len(variants) > _SHOWN else ""
    options = map_options({name: group[0] for group in variants for name in group[1:]})
    return (
        f"categories {shown}{more} differ by case or blanks only, and count as different; "
        f"as one: {options}"
    )


def map_options(category_map: Mapping[str, str]) -> str:
    """Return the options that map names, as they are typed.

    Examples
    --------
    >>> map_options({"Cat": "cat", "Dog ": "dog"})
    "--map Cat=cat --map 'Dog =dog'"
    """
    return " ".join(
        f"{_MAP}{shlex.quote(f'{name}={other}')}" for name, other in category_map.items()
    )
