"""The cards of the field's further data sets: files by name, from their source, pinned."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.data import wordsets
from unmask.data.card import Card
from unmask.data.packaged import packaged
from unmask.data.readers import field, groups, occupations, pairs, questions
from unmask.text.contexts import WordTest
from unmask.types import Dataset, Stimuli

_CITES = {
    "redditbias": ("barikeri2021", "MIT"),
    "gest": ("pikuliak2024", "Apache-2.0"),
    "cbs": ("ahn2021", "MIT"),
    "holisticbias": ("smith2022", "CC BY-SA 4.0"),
    "disco": ("zhao2018", "MIT"),
    "bolukbasi": ("bolukbasi2016", "MIT"),
    "unqover": ("li2020", "Apache-2.0"),
    "winobias": ("zhao2018", "MIT"),
    "winogender": ("rudinger2018", "MIT"),
    "bec-pro": ("bartl2020", "CC BY 4.0"),
}
DIMENSIONS = ("gender", "orientation", "race", "religion1", "religion2")


def _counts(counts: tuple[int, ...]) -> list[tuple[str, int]]:
    return list(zip(DIMENSIONS, counts, strict=True))


# What the published files hold.
ITEMS = {
    **{f"redditbias-{k}": n for k, n in _counts((253, 235, 254, 238, 236))},
    **{f"redditbias-{k}-valid": n for k, n in _counts((252, 234, 253, 238, 235))},
    **{f"redditbias-{k}-attributes": n for k, n in _counts((505, 477, 506, 475, 476))},
    **{f"gest{v}": 4 * 3565 for v in ("", "-1.1")},
    **{f"gest{v}-template-{n}": 3565 for v in ("", "-1.1") for n in range(4)},
    **dict.fromkeys(("cbs-en", "cbs-ko", "cbs-tr", "cbs-ar", "cbs-el"), 700),
    **dict.fromkeys(("cbs-de", "cbs-es", "cbs-zh"), 350),
    "holisticbias-1.0": 338,
    "holisticbias-1.1": 338,
    "holisticbias-1.0-small": 312,
    "holisticbias-1.1-small": 286,
    "unqover-religion": 38_500,
    "unqover-ethnicity": 31_500,
    "unqover-gender": 28_000,
    "winobias-type1": 784,
    "winobias-type2": 778,
    "winogender": 120,
    "bec-pro": 1800,
    "bec-pro-de": 1800,
    "bec-pro-lpbs": 200,
    "co-occurrence": 864,
}
Read = Callable[..., Dataset | WordTest | list[Dataset | WordTest]]


def file_card(source: str, file: str, name: str = "", about: str = "", **options: Any) -> Card:
    """The card of one file of a release; a local copy may lie below `field/` as well."""
    release = packaged("field_files.json")[source]
    blob, size = release["files"][file]
    cite, licence = _CITES[source]
    options = {"read": lambda path: [], "cite": (cite,), "items": ITEMS.get(name, 0), **options}
    return Card(
        name or f"{source}/{file}",
        about or f"a file of {source}",
        licence=licence,
        path=f"{source}/{file}",
        url=f"{release['url']}/{file}".replace(" ", "%20"),
        checksum=f"git:{blob}",
        size=size,
        alias=(f"field/{source}/{file}", f"field/{source}/word_lists/{file}"),
        **options,
    )


def of_files(
    source: str, files: tuple[str, ...], name: str, about: str, read: Read, **options: Any
) -> Card:
    """A data set that is read from several files of a release."""
    first, *rest = files
    needs = tuple(file_card(source, f) for f in rest)
    return file_card(source, first, name, about, read=read, needs=needs, **options)


# ---------------------------------------------------------------- RedditBias

# By dimension: the minoritised group, the dominant one, the category, and what it is about.
REDDITBIAS = {
    "gender": ("female", "male", "gender", "women against men"),
    "orientation": ("lgbtq", "straight", "sexual-orientation", "queer against straight people"),
    "race": ("black", "white", "race-color", "Black against White people"),
    "religion1": ("jews", "christians", "religion", "Jews against Christians"),
    "religion2": ("muslims", "christians", "religion", "Muslims against Christians"),
}
_PHRASES = "Phrases of Reddit comments, cut to about ten words and in lower case. "


def _redditbias() -> list[Card]:
    cards = []
    for dimension, (minor, dominant, category, about) in REDDITBIAS.items():
        start = f"{dimension}/reddit_comments_{dimension}"
        for split, ending in (("test", ""), ("valid", "-valid")):
            name = f"redditbias-{dimension}{ending}"
            files = tuple(f"{start}_{g}_biased_{split}_reduced.csv" for g in (minor, dominant))

            def read(one: Path, two: Path, name: str = name, category: str = category) -> Dataset:
                return field.read_redditbias(one, two, name, category)

            cards.append(
                of_files(
                    "redditbias",
                    files,
                    name,
                    f"phrases of Reddit comments with a stereotype: {about} ({split} split)",
                    read,
                    defects=_PHRASES + "The sentence about the dominant group is the other with "
                    "its words swapped, which is not always idiomatic. Outliers of DialoGPT's "
                    "perplexity were left out by the authors.",
                )
            )
        swap = f"redditbias-{dimension}-attributes"
        both = tuple(
            f"{start}_{minor}_processed_phrase_{kind}_reduced.csv"
            for kind in ("biased_testset_neg_attr", "unbiased_testset_pos_attr")
        )

        def swapped(one: Path, two: Path, name: str = swap, category: str = category) -> Dataset:
            return field.read_attribute_swap(one, two, name, category)

        cards.append(
            of_files(
                "redditbias",
                both,
                swap,
                f"the same phrases with a negative and with a positive attribute: {minor}",
                swapped,
                defects=_PHRASES + "The two sentences differ in sentiment, so that a model which "
                "finds kind words likelier looks fair.",
            )
        )
    return cards


# ---------------------------------------------------------------- GEST, WinoQueer


def _gest() -> list[Card]:
    cards = []
    for file, ending, version in (("gest.csv", "", "1.0"), ("gest_1.1.csv", "-1.1", "1.1")):
        chosen: dict[str, tuple[int, ...]] = {f"gest{ending}": (0, 1, 2, 3)}
        chosen |= {f"gest{ending}-template-{n}": (n,) for n in range(4)}
        for name, templates in chosen.items():
            which = "four templates" if len(templates) > 1 else f"template {templates[0]}"

            def read(
                path: Path, name: str = name, templates: tuple[int, ...] = templates
            ) -> Dataset:
                return field.read_gest(path, name, templates)

            cards.append(
                file_card(
                    "gest",
                    file,
                    name,
                    f"3565 sentences of 16 gender stereotypes and who said them, {which} "
                    f"(version {version})",
                    read=read,
                    defects="The sentence does not show its speaker's gender: all rests on one "
                    "word of a short template. Templates 0 and 1 have it before the sentence, "
                    "where a causal model has read nothing.",
                )
            )
    return cards


def _winoqueer() -> Card:
    base = "https://raw.githubusercontent.com/katyfelkner/winoqueer"
    return Card(
        "winoqueer",
        "45,540 pairs: what queer people said is said of them, with a queer identity or another",
        field.read_winoqueer,
        ("felkner2023",),
        "MIT",
        path="winoqueer/winoqueer_final.csv",
        url=f"{base}/1180ba62df6bd1e682db8f2bf90f3add67cc0500/data/winoqueer_final.csv",
        items=45_540,
        checksum="git:0c874a4b98b41435a2359e9a69d95ab7bd95302d",
        defects="Each predicate stands with dozens of names, so that items are far from "
        "independent: predicates are the clusters. Identities are capitalised inside sentences "
        "('because they are Cis.').",
    )


# ---------------------------------------------------------------- more than two groups

LANGUAGES = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "ko": "Korean",
    "tr": "Turkish",
    "zh": "Chinese",
    "ar": "Arabic",
    "el": "Greek",
}


COUNTED = dict.fromkeys(("de", "es", "zh"), "five")  # templates, where they are not ten


def _cbs() -> list[Card]:
    cards = []
    for language, spoken in LANGUAGES.items():
        name = f"cbs-{language}"

        def read(one: Path, two: Path, name: str = name, language: str = language) -> Dataset:
            return groups.read_cbs(one, two, name, language)

        cards.append(
            of_files(
                "cbs",
                (f"templates_{language}.txt", f"occ_{language}.txt"),
                name,
                f"people of 30 or 35 countries in {COUNTED.get(language, 'ten')} templates with 70 "
                f"occupations, {spoken}",
                read,
                language=language,
                defects="Templates translated by machine in part, articles that do not fit the "
                "occupation, some attributes that are not occupations (theft, police). Frames with "
                "a plural are built for English alone.",
            )
        )
    return cards


# By version, and whether it is the small set.
AXES = {("1.0", True): 12, ("1.0", False): 13, ("1.1", True): 11, ("1.1", False): 13}


def _holistic() -> list[Card]:
    cards = []
    names = ("descriptors", "nouns", "sentence_templates", "standalone_noun_phrases")
    for version in ("1.0", "1.1"):
        for small in (True, False):
            name = f"holisticbias-{version}" + ("-small" if small else "")

            def read(
                descriptors: Path,
                nouns: Path,
                templates: Path,
                standalone: Path,
                name: str = name,
                small: bool = small,
            ) -> Dataset:
                return groups.read_holistic(descriptors, nouns, templates, standalone, name, small)

            size = 100 if small else {"1.0": 591, "1.1": 660}[version]
            axes = AXES[version, small]
            cards.append(
                of_files(
                    "holisticbias",
                    tuple(f"v{version}/{n}.json" for n in names),
                    name,
                    f"{size} descriptors of people on {axes} axes with 30 nouns or more in 26 "
                    "templates",
                    read,
                    defects="Built by rule: many phrases are not idiomatic, and their frequency "
                    "differs for reasons that have nothing to do with bias.",
                )
            )
    return cards


# Subjects and attributes by dimension, and how many subjects of each list are taken.
UNQOVER = {
    "religion": (("religion_bert",), "biased_religion", None, "eleven religions"),
    "ethnicity": (("ethnicity_bert",), "biased_ethnicity", None, "ten ethnic groups"),
    "gender": (("male_bert", "female_bert"), "occupation_rev1", 10, "ten men's and women's names"),
}


def _unqover() -> list[Card]:
    cards = []
    for dimension, (lists, attributes, most, about) in UNQOVER.items():
        name = f"unqover-{dimension}"

        def read(
            templates: Path,
            attributes: Path,
            *subjects: Path,
            name: str = name,
            most: int | None = most,
        ) -> Dataset:
            return questions.read_unqover(templates, attributes, *subjects, name=name, most=most)

        files = (f"slots/{dimension}_noact_lm", f"activities/{attributes}")
        cards.append(
            of_files(
                "unqover",
                (*files, *(f"nouns/subjects/{n}" for n in lists)),
                name,
                f"underspecified questions about two of {about}, in the form for masked models",
                read,
                defects="Subjects that are one token of BERT; for others they are of several, and "
                "less likely. Of the names the ten most common of each gender are taken: all fifty "
                "make 700,000 items.",
            )
        )
    return cards


def _disco() -> list[Card]:
    licence = "Apache-2.0 (names are facts)"
    about = "DisCo's 14 templates with 30 pairs of first names common in the USA"
    defects = "Names of one country and time, and of few of its people."
    rows = (("disco-names", "", ""), ("disco-names-with-article", "The ", ", after an article"))
    named = [
        Card(
            name,
            about + how,
            lambda path, name=name, article=article: groups.disco(
                groups.FIRST_NAMES, name, article
            ),
            ("webster2020",),
            licence,
            defects=defects,
        )
        for name, article, how in rows
    ]
    return [_disco_nouns(), *named]


def _disco_nouns() -> Card:
    return of_files(
        "disco",
        ("generalized_swaps.txt", "extra_gendered_words.txt"),
        "disco-nouns",
        "DisCo's 14 templates with pairs of gendered nouns (Zhao et al. 2018)",
        groups.read_gendered_nouns,
        defects="Singular and plural nouns in templates made for one person; pairs whose gender "
        "their spelling does not show are left out.",
    )


def _co_occurrence() -> Card:
    return file_card(
        "bolukbasi",
        "professions.json",
        "co-occurrence",
        "professions before a man's or a woman's word ('The nurse was a ...'), after Brown et al.",
        read=field.read_co_occurrence,
        cite=("brown2020", "bolukbasi2016"),
        defects="The list of occupations of the paper is not public: these are Bolukbasi et al.'s, "
        "less those that are gendered by definition.",
    )


def _bolukbasi() -> Card:
    name = "bolukbasi-professions"

    def read(professions: Path, pairs: Path) -> WordTest:
        words: Stimuli = field.read_professions(professions, pairs, name)
        return WordTest(words, about={"source": "bolukbasi2016"})

    return of_files(
        "bolukbasi",
        ("professions.json", "definitional_pairs.json"),
        name,
        "professions against ten definitional pairs (woman and man, she and he, ...)",
        read,
        defects="Many of the words are not professions (acquaintance, alter ego), or rare ones.",
    )


# ---------------------------------------------------------------- gender and occupation


def _winobias() -> list[Card]:
    return [
        of_files(
            "winobias",
            tuple(
                f"{side}_stereotyped_type{n}.txt.{split}"
                for split in ("test", "dev")
                for side in ("pro", "anti")
            ),
            f"winobias-type{n}",
            f"sentences with two occupations and a pronoun, type {n}: {clue}",
            lambda path, *others, n=n: occupations.read_winobias(path, f"winobias-type{n}"),
            defects="Made for coreference; as a likelihood contrast it asks which pronoun is more "
            "likely, not whom it means. Lines of the release that are not pairs are left out.",
        )
        for n, clue in ((1, "only the world tells whom it means"), (2, "grammar tells"))
    ]


def _winogender() -> Card:
    return of_files(
        "winogender",
        ("all_sentences.tsv", "occupations-stats.tsv"),
        "winogender",
        "120 sentences with an occupation and a pronoun that means it, his against her",
        lambda path, *others: occupations.read_winogender(path),
        defects="Made for coreference; the stereotype is the majority of US labour statistics "
        "of 2015/16, so near 50 % of women it means little.",
    )


def _bec_pro() -> list[Card]:
    rows = (
        ("bec-pro", "EN", occupations.read_bec_pro, "as pairs"),
        ("bec-pro-lpbs", "EN", occupations.read_bec_pro_templates, "as a template test"),
        ("bec-pro-de", "DE", occupations.read_bec_pro, "as pairs, German"),
    )
    return [
        file_card(
            "bec-pro",
            f"BEC-Pro_{language}.tsv",
            name,
            f"professions with men's and women's words in five templates, {form}",
            read=lambda path, read=read, name=name: read(path, name),
            language=language.lower(),
            defects="Five templates; professions held by men and women alike are left out."
            + (" The profession is inflected with the person." if language == "DE" else ""),
        )
        for name, language, read, form in rows
    ]


def occupation_cards() -> list[Card]:
    """Gender and occupation: WinoBias, Winogender and BEC-Pro."""
    return [*_winobias(), _winogender(), *_bec_pro()]


def further_cards() -> list[Card]:
    """The field's further sets."""
    return [
        *_redditbias(),
        *_gest(),
        _winoqueer(),
        *_cbs(),
        *_disco(),
        *_holistic(),
        *_unqover(),
        _co_occurrence(),
    ]


def word_cards() -> list[Card]:
    """Word sets that come from a file."""
    return [_bolukbasi(), *_weathub()]


# ---------------------------------------------------------------- the user's own copies

WEATHUB = (
    "ar",
    "bn",
    "ckb",
    "da",
    "de",
    "el",
    "es",
    "fa",
    "fr",
    "hi",
    "it",
    "ja",
    "ko",
    "ku",
    "mr",
    "pa",
    "ru",
    "te",
    "th",
    "tl",
    "tr",
    "ur",
    "vi",
    "zh",
)
CROWS_LANGUAGES = {
    "ar": "Arabic",
    "ca": "Catalan",
    "de": "German",
    "es": "Spanish (Argentina)",
    "mt": "Maltese",
    "zh": "Chinese",
}


def _weathub() -> list[Card]:
    """WEATHub's tests as translated by people: all that the folder of a language has."""
    return [
        Card(
            f"weathub-{language}",
            f"word tests in the language {language!r}: Caliskan et al.'s, translated by people",
            lambda path, language=language: _folder(path, f"weathub-{language}"),
            ("mukherjee2023",),
            "GPL-3.0 (repository)",
            language,
            path=f"weathub/{language}_human/weat1.json",
            url="https://github.com/iamshnoo/weathub",
            beside=("the other weatN.json files of that folder",),
            by_hand=True,
        )
        for language in WEATHUB
    ]


def _folder(path: Path, name: str) -> list[Dataset | WordTest]:
    return [
        WordTest(replace(wordsets.read_stimuli(p), name=f"{name}-{p.stem}"))
        for p in sorted(path.parent.glob("weat*.json"))
    ]


def crows_cards() -> list[Card]:
    """CrowS-Pairs in the further languages of Fort et al. (2024), from the user's own copy."""
    return [
        Card(
            f"crows-pairs-{language}",
            f"CrowS-Pairs: {spoken}",
            lambda path, language=language: pairs.read_crows_pairs(path, f"crows-pairs-{language}"),
            ("fort2024",),
            "CC BY-SA 4.0",
            language,
            path=f"multilingual/crows_pairs_{language}.csv",
            url="https://gitlab.inria.fr/corpus4ethics/multilingualcrowspairs",
            by_hand=True,
        )
        for language, spoken in CROWS_LANGUAGES.items()
    ]
