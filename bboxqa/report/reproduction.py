"""How a result was made: command, settings, files, and a paragraph for a paper."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import join
from typing import Any

import msgspec

from bboxqa.core.text import count, joined
from bboxqa.model.settings import AgreeSettings
from bboxqa.report.numbers import in_json, measure_of, number
from bboxqa.report.pages import Data

# Names of sources that are Python values, not files.
_IN_MEMORY = ("document", "dataset", "table")
_OPTIONS = {
    "iou_threshold": "--iou", "category_map": "--map", "filter": "--pattern",
    "from_format": "--from",
}  # fmt: skip


def command(
    manifest: Mapping[str, Any],
    reference: str | None = None,
    target: Sequence[str] = ("--report", "report.html"),
) -> str:
    """Return the shell command that makes the result of a manifest again, with its page."""
    inputs = manifest["inputs"]
    settings, defaults = manifest["settings"].items(), in_json(AgreeSettings())
    changed = {name: value for name, value in settings if value != defaults.get(name)}
    if inputs and inputs[0]["name"] in _IN_MEMORY:
        return ""
    words: list[str] = []
    for source in inputs:
        name, role = source["name"], source["role"]
        if role == "annotations" and source["annotator"] is not None:
            words += ["--annotator", f"{source['annotator']}={name}"]
        elif role == "annotations":
            words.append(name)
        else:
            words += [f"--{role}", name]
            if role == "predictions":
                words += ["--score", f"{source['score']:g}"]
    if all(source["role"] != "predictions" for source in inputs):
        # The lowest score that counts in lists of results.
        scores = {source.get("score") for source in inputs} - {None}
        words += [word for score in scores for word in ("--score", f"{score:g}")]
    if reference is not None and all(source["role"] != "reference" for source in inputs):
        words += ["--reference", reference]
    given = {**manifest.get("reading", {}), **changed}
    words += [word for name, value in given.items() for word in option_words(name, value)]
    return join(["bboxqa", "agree", *words, *target])


def option_words(name: str, value: Any) -> Iterator[str]:
    """Yield an option with its value, repeated for several values."""
    option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        yield option if value else f"--no-{name}"
        return
    values = value if isinstance(value, list | tuple) else [value]
    if isinstance(value, dict):
        values = [f"{key}={each}" for key, each in value.items()]
    elif value is values:
        values = [f"{each:g}" for each in value]
        values = [",".join(values)] if name == "sigmas" else values
    for each in values:
        yield from (option, str(each))


def settings_table(manifest: Mapping[str, Any]) -> Data:
    """Return settings and versions as a table of text."""
    pairs = manifest["settings"] | manifest["reading"] | manifest["versions"]
    pairs |= {"platform": manifest["platform"]}
    rows = [[name, "" if value is None else str(value)] for name, value in pairs.items()]
    return Data("Settings and versions", ["name", "value"], rows)


def inputs_table(inputs: Sequence[Mapping[str, Any]]) -> Data:
    """Return the files as a table, without empty columns."""
    columns = [
        key for key in (inputs[0] if inputs else ())
        if any(each[key] not in (None, "annotations") for each in inputs)
    ]  # fmt: skip
    return Data("Files", columns, [[each[key] for key in columns] for each in inputs])


_ASSIGNED = "the assignment with the largest total similarity (Kuhn 1955)"
_LINKED = (
    "single linkage: all pairs in the order of falling similarity (Müllner 2011), never two "
    "annotations of one annotator"
)
# How each matcher joins annotations.
_MATCHED = {
    "auto": f"{_ASSIGNED} where two annotated an image, and where more did by {_LINKED}",
    "hungarian": _ASSIGNED,
    "greedy": _LINKED,
    "average": "average linkage (Sokal and Michener 1958), never two annotations of one annotator",
    "complete": "complete linkage (Müllner 2011), never two annotations of one annotator",
    "recursive": f"{_ASSIGNED}, one annotator after the other (Tschirschwitz et al. 2022)",
}
_LIBRARIES = {"python": "Python", "numpy": "numpy", "scipy": "scipy", "shapely": "shapely"}


class Work(msgspec.Struct, frozen=True):
    """A work to cite; `cited` are the words by which a paragraph names it."""

    cited: str
    key: str
    kind: str
    author: str
    title: str
    where: Mapping[str, str]
    """The other fields of BibTeX, in order."""

    def in_words(self) -> str:
        """Return the work as a line of a list of references."""
        names = joined(self.author.split(" and "))
        venue = [self.where.get(name, "") for name in ("journal", "booktitle", "publisher")]
        ids = [f"doi:{self.where['doi']}"] if "doi" in self.where else []
        ids += [f"arXiv:{self.where['eprint']}"] if "eprint" in self.where else []
        parts = filter(None, (self.title, *venue, *ids))
        return f"{names} ({self.where['year']}), {', '.join(parts)}."

    def bibtex(self) -> str:
        """Return the entry of BibTeX."""
        fields = {"author": self.author, "title": f"{{{self.title}}}", **self.where}
        lines = [f"  {name} = {{{text}}}," for name, text in fields.items()]
        return "\n".join((f"@{self.kind}{{{self.key},", *lines, "}")).replace("ü", '{\\"u}')


_WORKS = (
    Work("Efron and Tibshirani 1993", "efron1993", "book", "Efron, B. and Tibshirani, R. J.",
         "An Introduction to the Bootstrap", {"publisher": "Chapman and Hall", "year": "1993"}),
    Work("Hesterberg 2015", "hesterberg2015", "article", "Hesterberg, T. C.",
         "What Teachers Should Know About the Bootstrap",
         {"journal": "The American Statistician 69(4)", "year": "2015",
          "doi": "10.1080/00031305.2015.1089789"}),
    Work("Krippendorff 2022", "krippendorff2022", "book", "Krippendorff, K.",
         "Content Analysis: An Introduction to Its Methodology, 4th edition",
         {"publisher": "SAGE", "year": "2022", "doi": "10.4135/9781071878781"}),
    Work("Kuhn 1955", "kuhn1955", "article", "Kuhn, H. W.",
         "The Hungarian Method for the Assignment Problem",
         {"journal": "Naval Research Logistics Quarterly 2(1-2)", "year": "1955",
          "doi": "10.1002/nav.3800020109"}),
    Work("Müllner 2011", "muellner2011", "misc", "Müllner, D.",
         "Modern Hierarchical, Agglomerative Clustering Algorithms",
         {"year": "2011", "eprint": "1109.2378", "archiveprefix": "arXiv"}),
    Work("Sokal and Michener 1958", "sokal1958", "article", "Sokal, R. R. and Michener, C. D.",
         "A Statistical Method for Evaluating Systematic Relationships",
         {"journal": "University of Kansas Science Bulletin 38", "year": "1958"}),
    Work("Tschirschwitz et al. 2022", "tschirschwitz2022", "inproceedings",
         "Tschirschwitz, D. and Klemstein, F. and Stein, B. and Rodehorst, V.",
         "A Dataset for Analysing Complex Document Layouts in the Digital Humanities and Its "
         "Evaluation with Krippendorff's Alpha",
         {"booktitle": "GCPR 2022, LNCS 13485", "year": "2022",
          "doi": "10.1007/978-3-031-16788-1_22"}),
)  # fmt: skip


def citation(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """Return the paragraph, with the works as sentences behind it; empty without any figure."""
    text = paragraph(summary, manifest)
    return " ".join((text, *(each.in_words() for each in _WORKS if each.cited in text)))


def methods(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """Return the paragraph, and its works and bboxqa as BibTeX."""
    text = paragraph(summary, manifest) or "There is no figure of agreement."
    where = {"year": "2026", "version": summary["version"]}
    title = "bboxqa: quality of image annotations"
    own = Work("", "bboxqa", "software", "{The bboxqa authors}", title, where)
    cited = (each for each in _WORKS if each.cited in text)
    return "\n\n".join((text, *(each.bibtex() for each in (*cited, own))))


def paragraph(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """Return the figures at the first threshold, and how they were made; empty without any."""
    part = summary["thresholds"][0]
    if part["existence"]["f1"] is None and part["alpha"] is None:
        return ""
    people, images, annotations = (
        count(summary[f"n_{noun}s"], noun) for noun in ("annotator", "image", "annotation")
    )
    found = manifest["versions"]
    versions = [f"{name} {found[key]}" for key, name in _LIBRARIES.items() if key in found]
    programs = joined([f"bboxqa {summary['version']}", *versions])
    return " ".join((
        f"{people} drew {annotations} in {images}.",
        *_figures(part, measure_of(summary["similarity"])),
        *_choices(summary, manifest["settings"]),
        f"The figures were computed by {programs}.",
    ))  # fmt: skip


def _figures(part: Mapping[str, Any], measure: str) -> Iterator[str]:
    """Yield sentences with the figures."""
    existence, named, place = part["existence"], part["class"], part["place"]
    found = []
    if existence["f1"] is not None:
        found.append(f"F1 of existence was {_with_interval(existence['f1'], existence)}")
    if part["alpha"] is not None:
        found.append(f"Krippendorff's alpha was {_with_interval(part['alpha'], part)}")
    yield f"{' and '.join(found)}."
    if part["alpha"] is None:
        yield f"There is no Krippendorff's alpha ({part['alpha_reason']})."
    if place["n_pairs"]:
        near, pairs = _with_interval(place["mean_iou"], place), count(place["n_pairs"], "pair")
        yield f"The mean {measure} of {pairs} of matched annotations was {near}."
    if named["share"] is not None and part["largest_category"]["share"] != 1:
        same = _with_interval(named["share"], {"interval": named["share_interval"]})
        yield f"A share of {same} of these pairs had the same category."
    if named["alpha"] is not None:
        alpha = _with_interval(named["alpha"], named)
        yield f"For categories of objects that two or more drew, Krippendorff's alpha was {alpha}."


def _choices(summary: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences with the choices on which the figures depend."""
    part, similarity = summary["thresholds"][0], summary["similarity"]
    threshold = f"{measure_of(similarity)} {part['iou_threshold']:g} (similarity {similarity})"
    first = ", those of equal category first" if settings.get("category_lenient") else ""
    yield f"Two annotations could match from {threshold} on{first}."
    if similarity == "keypoints":
        yield f"Sigmas of key points were {settings.get('sigmas') or 'those of COCO'}."
    if summary["n_crowd"]:
        yield f"Annotations of crowds ({summary['n_crowd']:,}) were left out."
    if settings.get("category_map"):
        yield "Categories were renamed or left out before."
    if settings.get("session_key"):
        yield "Of several sessions of an annotator in an image, the first one counted."
    who = "all annotators" if settings.get("asked") == "all" else "those who drew something in it"
    yield f"Where the data do not list who was asked about an image, it was {who}."
    if part["existence"]["f1"] is not None:
        yield f"For F1, each two annotators were matched alone by {_ASSIGNED}."
    if part["alpha"] is not None:
        only_two = summary["matcher"] == "auto" and summary["n_annotators"] == 2
        matcher = "hungarian" if only_two else summary["matcher"]
        is_category = summary["missing"] == "category"
        as_unit = "; an image that all left empty counted as a unit on which all agree"
        yield (
            "For alpha (nominal, pooled over all units; Krippendorff 2022), annotations were "
            f"joined to units by {_MATCHED.get(matcher, f'the matcher {matcher}')}; a missing "
            f"annotation {'counted as a category of its own' if is_category else 'was left out'}"
            f"{as_unit if summary['empty_images'] == 'unit' else ''}."
        )
    if part["existence"]["interval"] or part["interval"]:
        yield (
            f"Intervals are percentiles of {summary['bootstrap']:,} bootstrap draws of the images "
            "with replacement (Efron and Tibshirani 1993), expanded for few images (Hesterberg "
            f"2015), with the seed {summary['seed']}."
        )
    else:
        yield "No intervals were computed."


def _with_interval(value: float, record: Mapping[str, Any]) -> str:
    if record["interval"] is None:
        return number(value, 3)
    low, high = (number(each, 3) for each in record["interval"])
    return f"{number(value, 3)} (95 % confidence interval {low} to {high})"
