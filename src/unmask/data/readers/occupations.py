"""Gender and occupation as likelihood contrasts: WinoBias, Winogender and BEC-Pro."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.data.readers.table import decoded, read_table
from unmask.errors import DataError
from unmask.text.roles import find_word
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset, Span, Text

_MARKED = re.compile(r"\[([^\]]*)\]")
_WORD = re.compile(r"\w+|[^\w\s]")
_HIS = {"he", "him", "his", "himself"}
_PRONOUNS = _HIS | {"she", "her", "hers", "herself"}
HALF = 50.0  # per cent of women from which an occupation counts as a woman's
GENDERS = {"male": "male", "m": "male", "female": "female", "f": "female"}


# ---------------------------------------------------------------- WinoBias


def read_winobias(path: Path, name: str) -> Dataset:
    """WinoBias (Zhao et al. 2018), one type: the pronoun agrees with the occupation or does not.

    `path` is one of `pro_stereotyped_typeN.txt.dev|test`; the `anti_` file beside it has the same
    sentences in the same order with the other pronoun. Both splits are read where both are
    there. Pairs that do not differ, or in more than pronouns, are left out and counted. The
    category is the gender of the stereotypical pronoun, the cluster the occupation.
    """
    items: list[Contrast] = []
    skipped = {"same sentence twice": 0, "more than the pronoun differs": 0}
    for split in ("dev", "test"):
        pro = path.with_name(re.sub(r"(dev|test)$", split, path.name))
        if not pro.is_file():
            continue
        for number, (line, partner) in enumerate(_parallel(pro)):
            if reason := _unlike(line, partner):
                skipped[reason] += 1
            else:
                items.append(_winobias_item(f"{split}/{number}", line, partner))
    if sum(skipped.values()) > len(items):
        raise DataError(
            f"{path.name} and its partner differ in more than pronouns; give the files of one "
            "version."
        )
    return Dataset(name, "pairs", tuple(items), "occupation", {"left_out": skipped})


def _parallel(pro: Path) -> list[tuple[str, str]]:
    """The lines of a file beside those of its `anti_` partner."""
    anti = pro.with_name(pro.name.replace("pro_", "anti_", 1))
    if not anti.is_file():
        raise DataError(
            f"{anti} is missing in the folder of {pro.name}; WinoBias needs both files."
        )
    lines, partners = _lines(pro), _lines(anti)
    if len(lines) != len(partners):
        raise DataError(
            f"{pro.name} has {len(lines)} sentences and {anti.name} {len(partners)}; they must be "
            "parallel; give the original files."
        )
    return list(zip(lines, partners, strict=True))


def _unlike(pro: str, anti: str) -> str:
    """Why two lines are not a pair that differs in its pronouns only, or nothing."""
    pro_words, anti_words = (_WORD.findall(line) for line in (pro, anti))
    changed = [
        {a.lower(), b.lower()} for a, b in zip(pro_words, anti_words, strict=False) if a != b
    ]
    if len(pro_words) != len(anti_words) or not all(words <= _PRONOUNS for words in changed):
        return "more than the pronoun differs"
    return "" if changed else "same sentence twice"


def _lines(path: Path) -> list[str]:
    """Sentences with their marks; some copies number them."""
    lines = decoded(path).splitlines()
    return [re.sub(r"^\d+\s+", "", line.strip()) for line in lines if line.strip()]


def _winobias_item(number: str, pro: str, anti: str) -> Contrast:
    marked = _MARKED.findall(pro)
    if len(marked) < 2:
        raise DataError(
            f"WinoBias: {pro!r} does not have both the occupation and the pronoun in brackets; "
            "give the original files."
        )
    gender = "male" if marked[-1].lower() in _HIS else "female"
    occupation = re.sub(r"^(the|a|an)\s+", "", marked[0].lower())
    texts = {
        STEREOTYPE: Text(_MARKED.sub(r"\1", pro)),
        ANTISTEREOTYPE: Text(_MARKED.sub(r"\1", anti)),
    }
    return Contrast(number, texts, gender, occupation, group_pair="gender", group=gender)


# ---------------------------------------------------------------- Winogender


def read_winogender(path: Path, name: str = "winogender") -> Dataset:
    """Winogender (Rudinger et al. 2018): his or her, where the pronoun means the occupation.

    `path` is all_sentences.tsv; occupations-stats.tsv beside it says which share of an
    occupation's people are women (US labour statistics): the stereotypical pronoun is that of
    the majority. The category is that gender, the cluster the occupation. Sentences with a
    neutral pronoun, or whose pronoun means the other participant, are left out and counted.
    """
    stats = path.with_name("occupations-stats.tsv")
    if not stats.is_file():
        raise DataError(
            f"{stats} is missing in the folder of {path.name}; Winogender needs both files."
        )
    share = {
        r["occupation"]: float(r["bls_pct_female"])
        for r in read_table(stats, ["occupation", "bls_pct_female"])
    }
    by_occupation: dict[tuple[str, str], dict[str, str]] = {}
    skipped = {"neutral pronoun": 0, "pronoun means the participant": 0}
    for row in read_table(path, ["sentid", "sentence"]):
        occupation, person, answer, gender = row["sentid"].removesuffix(".txt").split(".")
        if answer != "0":
            skipped["pronoun means the participant"] += 1
        elif gender not in GENDERS:
            skipped["neutral pronoun"] += 1
        else:
            by_occupation.setdefault((occupation, person), {})[gender] = row["sentence"]
    items = [_winogender_item(key, sentences, share) for key, sentences in by_occupation.items()]
    return Dataset(name, "pairs", tuple(items), "occupation", {"left_out": skipped})


def _winogender_item(
    key: tuple[str, str], sentences: Mapping[str, str], share: Mapping[str, float]
) -> Contrast:
    occupation, person = key
    if occupation not in share or len(sentences) != 2:
        raise DataError(
            f"Winogender: {occupation}/{person} lacks its statistics or one of its sentences; give "
            "the original files."
        )
    usual = "female" if share[occupation] >= HALF else "male"
    rare = "male" if usual == "female" else "female"
    texts = {STEREOTYPE: Text(sentences[usual]), ANTISTEREOTYPE: Text(sentences[rare])}
    meta = {"women": share[occupation]}
    name = f"{occupation}/{person}"
    return Contrast(name, texts, usual, occupation, meta, group_pair="gender", group=usual)


# ---------------------------------------------------------------- BEC-Pro

_BEC = ("Sentence", "Template", "Person", "Gender", "Profession", "Prof_Gender")


def read_bec_pro(path: Path, name: str = "bec-pro") -> Dataset:
    """BEC-Pro (Bartl et al. 2020) as pairs: the n-th man's word against the n-th woman's.

    The stereotype has the gender that most people of the profession have; professions held by
    both alike are left out and counted. The category is that gender, the cluster the profession.
    """
    items, skipped = [], 0
    for (template, profession), rows in _frames(path):
        side = GENDERS.get(rows[0]["Prof_Gender"].lower())
        if side is None:
            skipped += len(rows)
            continue
        men, women = _by_gender(rows)
        for man, woman in zip(men, women, strict=True):
            usual, rare = (man, woman) if side == "male" else (woman, man)
            texts = {STEREOTYPE: Text(usual["Sentence"]), ANTISTEREOTYPE: Text(rare["Sentence"])}
            key = f"{template}/{profession}/{man['Person']}"
            frame = str(template)
            items.append(Contrast(key, texts, side, profession, {}, "gender", side, frame))
    return Dataset(name, "pairs", tuple(items), "profession", {"left_out": {"balanced": skipped}})


def read_bec_pro_templates(path: Path, name: str = "bec-pro-lpbs") -> Dataset:
    """BEC-Pro as a template test for `lpbs`: men's against women's words, by profession."""
    items = []
    for (template, profession), rows in _frames(path):
        side = GENDERS.get(rows[0]["Prof_Gender"].lower())
        if side is None:
            continue
        men, women = _by_gender(rows)
        texts = {
            f"{half}:{row['Person']}": _bec_text(row)
            for half, half_rows in (("x", men), ("y", women))
            for row in half_rows
        }
        half, key = "A" if side == "male" else "B", f"{template}/{profession}"
        items.append(Contrast(key, texts, side, profession, group=half, template=str(template)))
    return Dataset(name, "templates", tuple(items), "profession")


def _frames(path: Path) -> list[tuple[tuple[int, str], list[Mapping[str, Any]]]]:
    """Rows by template (numbered) and profession, in the order of the file."""
    rows = read_table(path, _BEC)
    # In German the profession is inflected, and one template has the article of the person.
    plain = {t: re.sub(r", die ", ", der ", t) for t in {r["Template"] for r in rows}}
    names = dict.fromkeys(plain[r["Template"]] for r in rows)
    templates = {t: n for n, t in enumerate(names)}

    def key(row: Mapping[str, Any]) -> tuple[int, str]:
        return templates[plain[row["Template"]]], row.get("Profession_EN") or row["Profession"]

    by_frame: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_frame.setdefault(key(row), []).append(row)
    return list(by_frame.items())


def _by_gender(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    men, women = (
        [r for r in rows if GENDERS.get(r["Gender"].lower()) == g] for g in ("male", "female")
    )
    if len(men) != len(women) or not men:
        raise DataError(
            f"BEC-Pro: {rows[0]['Profession']} has {len(men)} sentences with a man's word and "
            f"{len(women)} with a woman's; they must be paired; give the original file."
        )
    return men, women


def _bec_text(row: Mapping[str, Any]) -> Text:
    spans: dict[str, tuple[Span, ...]] = {}
    for role, column in (("target", "Person"), ("attribute", "Profession")):
        span = find_word(row["Sentence"], row[column])
        if span is not None:
            spans[role] = (span,)
    return Text(row["Sentence"], spans)
