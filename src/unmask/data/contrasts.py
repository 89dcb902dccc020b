"""Readers of sentence contrasts: CrowS-Pairs, the package's own sets, and users' own files."""

import ast
import csv
import io
import json
import string
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.errors import DataError
from unmask.text.roles import find_word
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Contrast, Dataset, Span, Text

BLANK = "BLANK"


def read_json(path: Path) -> Any:
    """A JSON file, or one sentence about what is wrong with it."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a JSON file ({error}); give the original file.") from error


def read_table(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a CSV, TSV, JSON-lines or parquet file that must have some columns."""
    if path.suffix == ".parquet":
        return _complete(path, _parquet(path), needed)
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")  # the Dutch pairs are in Windows' encoding
    if not text.strip():
        raise DataError(f"{path} is empty; give a file with the columns {', '.join(needed)}.")
    if path.suffix in {".jsonl", ".ndjson"}:
        try:
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        except json.JSONDecodeError as error:
            raise DataError(f"{path} has a line that is not JSON: {error}.") from error
    else:
        rows = _separated(text, path.suffix == ".tsv")
    return _complete(path, rows, needed)


def _separated(text: str, tabs: bool) -> list[dict[str, Any]]:
    """Rows of CSV or TSV. In a TSV a quote is a quote, unless all that open a field close it."""
    file = io.StringIO(text, newline="")
    if not tabs:
        return list(csv.DictReader(file))
    fields = (f for line in text.splitlines() for f in line.split("\t") if f.startswith('"'))
    if all(len(f) > 1 and f.endswith('"') for f in fields):
        return list(csv.DictReader(file, delimiter="\t"))
    return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _parquet(path: Path) -> list[dict[str, Any]]:
    try:
        return list(pq.read_table(path).to_pylist())
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is not a parquet file ({error}); write it again.") from error


def _complete(
    path: Path, rows: list[dict[str, Any]], needed: Sequence[str]
) -> list[dict[str, Any]]:
    if not rows:
        raise DataError(f"{path} has a header and no rows; add some.")
    missing = [c for c in needed if c not in rows[0]]
    if missing:
        raise DataError(
            f"{path} has no column {' and no column '.join(map(repr, missing))} (it has "
            f"{', '.join(map(str, rows[0]))}); needed are {', '.join(needed)}."
        )
    short = next((n for n, r in enumerate(rows) if any(r.get(c) is None for c in needed)), None)
    if short is not None:
        raise DataError(f"{path}, row {short + 1} has too few columns; fill it in or remove it.")
    return rows


# ---------------------------------------------------------------- CrowS-Pairs


def read_crows_pairs(path: Path, name: str = "crows-pairs") -> Dataset:
    """CrowS-Pairs (Nangia et al. 2020): stereotype is `sent_more`, whatever the direction.

    The cluster is the writer. `meta` keeps the direction (`stereo` is about a disadvantaged
    group) and how many of the annotators named the item's own bias type. Rows of a translation
    that lack a sentence are left out, and `about` counts them.
    """
    rows = read_table(path, ["sent_more", "sent_less", "stereo_antistereo", "bias_type"])
    items, empty = [], 0
    for number, row in enumerate(rows):
        if not (row["sent_more"].strip() and row["sent_less"].strip()):
            empty += 1
            continue
        ratings = _ratings(row.get("annotations", ""))
        items.append(
            Contrast(
                id=str(row.get("") or row.get("index") or number),
                texts={
                    STEREOTYPE: Text(row["sent_more"]),
                    ANTISTEREOTYPE: Text(row["sent_less"]),
                },
                category=row["bias_type"],
                cluster=row.get("anon_writer") or f"item {number}",
                meta={
                    "direction": row["stereo_antistereo"],
                    "ratings": ratings,
                    "agreement": sum(row["bias_type"] in r for r in ratings),
                    "biased": sum(bool(r) for r in ratings),
                },
            )
        )
    cluster = "writer" if "anon_writer" in rows[0] else "item"
    about = {"left_out": {"empty sentence": empty}} if empty else {}
    return Dataset(name, "pairs", tuple(items), cluster, about)


def read_translated(path: Path, name: str = "translated") -> Dataset:
    """The translated gender pairs of Kaneko et al. (2022), a JSON list."""
    try:
        items = [
            Contrast(
                str(number),
                {STEREOTYPE: Text(row["stereotype"]), ANTISTEREOTYPE: Text(row["anti-stereotype"])},
                row["bias_type"],
                f"item {number}",
                {"direction": row["direction"]},
            )
            for number, row in enumerate(read_json(path))
        ]
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} has not the form of translated pairs (no {error}); give the original file."
        ) from error
    return Dataset(name, "pairs", tuple(items))


def _ratings(text: str) -> list[list[str]]:
    """The annotators' bias types: a Python list of lists in the published file."""
    try:
        found = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError):
        return []
    return [list(r) for r in found]


# ---------------------------------------------------------------- the package's own sets


def packaged(name: str) -> Any:
    """A data file of the package."""
    return json.loads(resources.files("unmask.data").joinpath("sets", name).read_text("utf-8"))


def bundled_pairs() -> Dataset:
    """unmask's own triplets: each frame with each word, the fill stereotypical or not."""
    items: list[Contrast] = []
    for family in packaged("pairs.json")["families"]:
        for side in ("first", "second"):
            fills = family["fills"] if side == "first" else family["fills"][::-1]
            for word in family[side]:
                items.extend(_framed(family, word, (*fills, family["unrelated"])))
    return Dataset("bundled-pairs", "triplets", tuple(items), "word")


def _framed(family: Mapping[str, Any], word: str, fills: Sequence[str]) -> Iterator[Contrast]:
    for number, frame in enumerate(family["frames"]):
        context = frame.format(word=word)
        at = context.index(BLANK)
        texts = {}
        for label, fill in zip((STEREOTYPE, ANTISTEREOTYPE, UNRELATED), fills, strict=True):
            here = ((at, at + len(fill)),)
            texts[label] = Text(context.replace(BLANK, fill), {"fill": here, "word": here})
        yield Contrast(
            f"{family['name']}/{word}/{number}",
            texts,
            family["category"],
            f"{family['name']}/{word}",
            {"context": context},
        )


def template_test(test: Mapping[str, Any]) -> Dataset:
    """One item for each template and attribute word, with a sentence for each target word."""
    if len(test["attributes"]) != 2:
        raise DataError(f"{test['name']} has {len(test['attributes'])} attribute sets; two needed.")
    items = [
        _template_item(number, template, word, label, side)
        for number, template in enumerate(test["templates"])
        for side, (label, words) in zip("AB", test["attributes"].items(), strict=True)
        for word in words
    ]
    about = {k: v for k, v in test.items() if k not in {"templates", "attributes"}}
    return Dataset(test["name"], "templates", tuple(items), "attribute word", about)


def _template_item(
    number: int, template: Mapping[str, Any], word: str, label: str, side: str
) -> Contrast:
    texts = {
        f"{half}:{target}": _filled(template["text"], target, word)
        for half in ("x", "y")
        for target in template[half]
    }
    return Contrast(f"{number}/{word}", texts, label, word, {"side": side, "template": number})


def _filled(template: str, target: str, attribute: str) -> Text:
    """A template with both slots filled, its first letter a capital, and both spans marked."""
    for slot in ("{target}", "{attribute}"):
        if template.count(slot) != 1:
            raise DataError(
                f"the template {template!r} has the slot {slot} {template.count(slot)} times; "
                "it must stand there once."
            )
    out, spans = "", {}
    for literal, name, *_ in string.Formatter().parse(template):
        out += literal
        if name:
            fill = target if name == "target" else attribute
            spans[name] = ((len(out), len(out) + len(fill)),)
            out += fill
    return Text(out[0].upper() + out[1:], spans)


# ---------------------------------------------------------------- users' own files


def read_pairs(path: Path) -> Dataset:
    """A user's CSV, TSV, JSON lines or parquet with `stereotype` and `antistereotype`.

    Optional columns: `unrelated`, `id`, `category`, `cluster`, and `fill` (the word that differs,
    for CAT; with it give `unrelated` too).
    """
    rows = read_table(path, ["stereotype", "antistereotype"])
    triplets = all(r.get("unrelated") for r in rows)
    items = [_user_item(row, number, path) for number, row in enumerate(rows)]
    return Dataset(
        path.stem,
        "triplets" if triplets else "pairs",
        tuple(items),
        "cluster" if "cluster" in rows[0] else "item",
    )


def _user_item(row: Mapping[str, Any], number: int, path: Path) -> Contrast:
    texts = {}
    for label in (STEREOTYPE, ANTISTEREOTYPE, UNRELATED):
        sentence = row.get(label)
        if sentence is None or not str(sentence).strip():
            if label == UNRELATED:
                continue
            raise DataError(f"{path}, row {number + 1}: the column {label!r} is empty; fill it in.")
        found = find_word(sentence, row[f"{label}_fill"]) if row.get(f"{label}_fill") else None
        spans: dict[str, tuple[Span, ...]] = {"fill": (found,), "word": (found,)} if found else {}
        texts[label] = Text(str(sentence), spans)
    name = str(row.get("id") or number)
    return Contrast(name, texts, str(row.get("category") or "all"), str(row.get("cluster") or name))
