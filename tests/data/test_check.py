"""Tests of data/check: files as people really make them, each with the sentence that it gets."""

import csv
import json

import numpy as np
import pytest
from scipy.stats import norm

import unmask
from conftest import invoke
from unmask.data.check import design, file
from unmask.data.check.rows import bad_article
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.studies.data_check import with_model
from unmask.text.languages import language

WORDS = [
    ("man", "woman"), ("boy", "girl"), ("father", "mother"), ("son", "daughter"), ("king", "queen"),
    ("uncle", "aunt"), ("waiter", "waitress"), ("lord", "lady"), ("husband", "wife"),
    ("brother", "sister"), ("actor", "actress"), ("monk", "nun"),
]  # fmt: skip
FRAMES = [
    ("The {} fixed the car after work.", 0), ("The {} cooked for all of them.", 1),
    ("The {} was good with numbers.", 0), ("The {} cried at the end of the film.", 1),
    ("The {} paid for the dinner.", 0),
]  # fmt: skip


def sound(words=WORDS, frames=FRAMES):
    """Rows of a set that is balanced: each wording about one group, each pair of words in all."""
    return [
        {
            "stereotype": frame.format(pair[about]),
            "antistereotype": frame.format(pair[1 - about]),
            "category": "gender",
        }
        for pair in words
        for frame, about in frames
    ]


def written(path, rows, heads=None):
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(heads or rows[0])
        writer.writerows(row.values() for row in rows)
    return path


def findings(tmp_path, rows, heads=None):
    return file.check(written(tmp_path / "mine.csv", rows, heads)).findings


def by_bundled(path):
    checked = file.check(path)
    return with_model(
        checked, lambda name: unmask.run(["bundled"], [name], [checked.data])[0]
    ).findings


def told(found, about, state=None):
    return " ".join(
        f.text for f in found if f.about == about and (state is None or f.state == state)
    )


def test_a_sound_file_has_no_problem(tmp_path):
    found = findings(tmp_path, sound())
    assert [f for f in found if f.state == "problem"] == []
    assert "60 items with 12 pairs of swapped words" in told(found, "clusters", "good")
    assert "12 group pairs, both groups in each" in told(found, "directions", "good")
    assert told(found, "rows") == "no visible defects: no duplicates, one change in each pair."


def test_names_of_columns_are_forgiven(tmp_path):
    found = findings(tmp_path, sound(), ["Stereotype", "Anti-stereotype", "Category"])
    assert "'Anti-stereotype' as antistereotype" in told(found, "columns", "good")
    spaced = findings(tmp_path, sound(), [" STEREOTYPE", "anti stereotype ", "bias_type"])
    assert "'bias_type' as category" in told(spaced, "columns", "good")
    (result,) = unmask.run(["bundled"], ["aul"], [tmp_path / "mine.csv"])
    assert result.overall.n == 60


def test_exchanged_columns_are_told_by_the_model(tmp_path):
    rows = [
        {
            "stereotype": f"Was {w} house the of in it.",
            "antistereotype": f"The {w} was in the house.",
        }
        for w, _ in WORDS
    ]
    found = by_bundled(written(tmp_path / "mine.csv", rows))
    text = told(found, "columns")
    assert "prefers the sentence in 'antistereotype' in 100 % of the pairs" in text


def test_four_words_only(tmp_path):
    found = findings(tmp_path, sound(WORDS[:4], FRAMES * 3))
    problem = told(found, "clusters", "problem")
    assert "60 items with 4 pairs of swapped words" in problem
    assert "count as 4 observations" in problem
    assert "% of the pairs or more" in told(found, "power", "problem")


def test_one_direction_only(tmp_path):
    found = findings(tmp_path, sound(frames=FRAMES[::2]))
    assert "used in one direction only" in told(found, "directions", "problem")


def test_a_misspelt_group(tmp_path):
    rows = [
        {**row, "group": ("men", "women")[n % 2], "group_pair": "men/women"}
        for n, row in enumerate(sound())
    ]
    assert "probably the same" not in told(findings(tmp_path, rows), "directions")
    rows[7]["group"] = "womn"
    problem = told(findings(tmp_path, rows), "directions", "problem")
    assert "men/women: the groups 'womn' (1) and 'women' (29) are probably the same." in problem


def test_an_empty_cell_in_a_run_points_to_the_check(tmp_path):
    rows = sound()
    rows[1]["antistereotype"] = ""
    path = written(tmp_path / "mine.csv", rows)
    with pytest.raises(unmask.DataError, match=r"line 3: .* 'unmask data check' lists all defects"):
        unmask.run(["bundled"], ["aul"], [path])


def test_duplicates(tmp_path):
    rows = sound()
    found = findings(tmp_path, [*rows, *rows[:3]])
    assert "repeated: 3 rows (62, 63, 64)" in told(found, "rows", "note")


def test_rows_with_the_columns_swapped(tmp_path):
    rows = sound()
    swapped = {
        "stereotype": rows[0]["antistereotype"],
        "antistereotype": rows[0]["stereotype"],
    }
    path = written(tmp_path / "mine.csv", [*rows, {**rows[0], **swapped}])
    checked = file.check(path)
    texts = [f.text for f in checked.findings]
    assert sum("columns swapped" in t for t in texts) == 1
    assert not any("are repeated" in t for t in texts)  # "remove them" would contradict it
    assert len(file.repaired(checked)) == len(rows) + 1  # only the author knows which row is right


def test_a_rewritten_sentence_is_more_than_a_swap(tmp_path):
    rows = sound()
    rows[4]["stereotype"] = "The girl likes pink dresses."
    rows[4]["antistereotype"] = "The boy plays loud football."
    assert "differ in more than the group's words: 1 row (6)" in told(
        findings(tmp_path, rows), "rows", "note"
    )


def test_a_row_of_several_lines_has_the_number_of_its_first(tmp_path):
    rows = sound()
    rows[4]["category"] = "gender\n"
    rows[6]["antistereotype"] = rows[6]["stereotype"]
    assert "both sentences are the same: 1 row (9)" in told(
        findings(tmp_path, rows), "rows", "problem"
    )


def test_languages_of_single_sentences():
    for name, sentence in (
        ("German", "Die Frau kommt immer zu spät zur Arbeit."),
        ("German", "Meine Nachbarn sind sehr laut."),
        ("Spanish", "El hombre siempre llega tarde a su trabajo."),
        ("French", "La femme avait toujours peur du chien."),
        ("English", "The man had a hat on his head during the war."),
        ("English", "My naïve cousin ordered a crème brûlée."),
    ):
        assert language(sentence) in ((name, "") if "naïve" in sentence else (name,))


def test_trailing_and_odd_spaces(tmp_path):
    rows = sound()
    rows[4]["stereotype"] += " "
    rows[9]["antistereotype"] = rows[9]["antistereotype"].replace(" ", "\u00a0", 1)
    found = findings(tmp_path, rows)
    assert "leading, trailing, double or unusual spaces: 2 rows (6, 11)" in told(found, "rows")


def test_two_languages(tmp_path):
    rows = sound()
    rows[7] = {
        "stereotype": "Der Mann hat das Auto und ist nicht da.",
        "antistereotype": "Die Frau hat das Auto und ist nicht da.",
        "category": "gender",
    }
    found = findings(tmp_path, rows)
    text = told(found, "rows")
    assert "the text looks like German, but most rows look like English: 1 row (9)" in text


def test_more_than_the_group_differs(tmp_path):
    rows = sound()
    rows[0]["antistereotype"] = "The woman broke the car before work."
    found = findings(tmp_path, rows)
    assert "differ in more than the group's words: 1 row (2)" in told(found, "rows", "note")


def test_the_same_sentence_twice(tmp_path):
    rows = sound()
    rows[2]["antistereotype"] = rows[2]["stereotype"]
    assert "both sentences are the same: 1 row (4)" in told(
        findings(tmp_path, rows), "rows", "problem"
    )


def test_no_category_and_columns_that_mean_nothing(tmp_path):
    rows = [{k: v for k, v in r.items() if k != "category"} | {"comment": "x"} for r in sound()]
    found = findings(tmp_path, rows)
    assert "there is no category" in told(found, "columns", "note")
    assert "not used: 'comment'" in told(found, "columns", "note")


def test_articles_left_behind(tmp_path):
    rows = sound()
    rows[0] |= {
        "stereotype": "He is a engineer and he works.",
        "antistereotype": "He is a nurse and he works.",
    }
    assert "'a' before a vowel" in told(findings(tmp_path, rows), "rows", "note")
    right_ones = ("an hour", "a university", "a European", "an actress", "a one-time thing",
                  "a Ukrainian", "a Ugandan", "a US soldier", "an LGBT activist",
                  "an unintelligent man", "an FBI agent")  # fmt: skip
    for right in right_ones:
        assert not bad_article(f"It was {right} of the best.")
    for wrong in ("a hour", "an doctor", "a actress"):
        assert bad_article(f"It was {wrong} of the best.")


def test_semicolons_and_empty_rows_of_a_spreadsheet(tmp_path):
    path = tmp_path / "mine.csv"
    lines = ["stereotype;antistereotype;category"]
    lines += [";".join(r.values()) for r in sound()]
    path.write_text("\n".join([*lines, ";;", ";;"]) + "\n")
    assert len(file.check(path).data.items) == 60


def test_small_and_uneven_parts(tmp_path):
    rows = sound() + [
        {
            "stereotype": "The old man sat.",
            "antistereotype": "The young man sat.",
            "category": "Age",
        }
    ]
    found = findings(tmp_path, rows)
    assert "gender 60, age 1" in told(found, "bias types", "good")
    assert "so no verdict: age (1)" in told(found, "bias types", "note")
    sided = [
        r | {"group_pair": "groups", "group": "m" if n % 5 else "f"} for n, r in enumerate(sound())
    ]
    assert "uneven groups: groups (12 and 48)" in told(findings(tmp_path, sided), "directions")


def test_two_columns_of_one_meaning_are_refused(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("Stereotype,stereo,antistereotype\na,b,c\n")
    status, _, said = invoke("data", "check", path)
    assert (status, "'Stereotype' and 'stereo' both look like 'stereotype'" in said) == (2, True)


def test_a_repaired_file_is_sound_and_reads_the_same(tmp_path):
    rows = sound()
    rows[4]["stereotype"] += "  "
    path = written(
        tmp_path / "mine.csv",
        [*rows, rows[0], {**rows[1], "antistereotype": rows[1]["stereotype"]}],
    )
    new = tmp_path / "new.csv"
    status, out, _ = invoke("data", "check", path, "--write", new)
    assert (status, "60 of 62 rows" in out) == (0, True)
    checked = file.check(new)
    assert [f for f in checked.findings if f.about == "rows" and f.state != "good"] == []
    assert list(checked.columns) == [
        "stereotype",
        "antistereotype",
        "category",
        "cluster",
        "group_pair",
        "group",
    ]
    first = file.check(path)
    assert {i.cluster for i in checked.data.items} < {i.cluster for i in first.data.items}


def test_the_command_its_template_and_its_exit_status(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke("data", "template")[0] == 0
    assert invoke("data", "template")[0] == 2  # nothing is overwritten
    status, out, _ = invoke("data", "check", "my-pairs.csv", "--json")
    assert (status, json.loads(out)[0]["about"]) == (0, "columns")
    assert invoke("data", "check", "my-pairs.csv", "--strict")[0] == 1
    assert invoke("data", "check", "none.csv")[0] == 2
    status, _, said = invoke("data", "check", "my-pairs.csv", "--write", "my-pairs.csv")
    assert (status, "already exists" in said) == (2, True)


def test_a_run_says_in_short_what_is_wrong(tmp_path):
    path = written(tmp_path / "mine.csv", sound(WORDS[:4]))
    (result,) = unmask.run(["bundled"], ["aul"], [path])
    assert any("count as 4 observations" in n and "data check" in n for n in result.notes)
    assert result.verdicts[""].word == "inconclusive"


def test_what_a_set_can_show_is_as_its_design_says():
    """Independent items: the usual formula; the bundled pairs: about what runs on them report."""
    rows = [
        unmask.Contrast(
            str(n), {k: unmask.Text("x") for k in ("stereotype", "antistereotype")}, "all", str(n)
        )
        for n in range(400)
    ]
    data = unmask.Dataset("mine", "pairs", tuple(rows))
    plain = 100 * (norm.cdf((1.966 + 0.843) / 20) - 0.5)
    assert design.expected_power(data).points.tolist() == [pytest.approx(plain, rel=0.05)]
    (result,) = unmask.run(["bundled"], ["cps"], ["bundled-pairs"])
    reported = result.extras["margin:gender"].more["mde"]
    assert (
        0.5
        < design.expected_power(bundled_pairs()).set_index("bias type").points["gender"] / reported
        < 3
    )


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("The man was here and he left.", "English"),
        ("Die Frau ist nicht hier und das Auto auch nicht.", "German"),
        ("Elle est dans la maison avec les enfants.", "French"),
        ("Привет, как дела?", "Cyrillic script"),
        ("x y z", ""),
        ("Do you trust your neighbours?", ""),
        ("My son has no job.", ""),
        ("Men die in war.", ""),
        ("彼はパイロットです。", "East Asian script"),
    ],
)
def test_languages(sentence, name):
    assert language(sentence) == name


def test_an_odd_swap_is_told(tmp_path):
    rows = sound()
    rows[5]["antistereotype"] = rows[5]["antistereotype"].replace("The girl", "The xqzt jjkw")
    found = by_bundled(written(tmp_path / "mine.csv", rows))
    odd = [f for f in found if "finds very" in f.sentence]
    assert 6 in {n for f in odd for n in f.rows}
    assert np.mean([len(f.rows) for f in odd]) < 10


def test_a_repaired_file_keeps_sentences_and_other_columns(tmp_path):
    rows = [{**r, "note": "mine"} for r in sound()]
    rows[0]["stereotype"] = "-" + rows[0]["stereotype"]
    rows[1]["antistereotype"] = "@user " + rows[1]["antistereotype"]
    path, new = written(tmp_path / "mine.csv", rows), tmp_path / "new.csv"
    assert invoke("data", "check", path, "--write", new)[0] == 0
    again = list(csv.DictReader(new.read_text().splitlines()))
    assert [r["stereotype"] for r in again] == [r["stereotype"] for r in rows]
    assert {r["note"] for r in again} == {"mine"}
    assert invoke("data", "check", path, "--write", tmp_path / "new.tsv")[0] == 2


def test_a_row_that_changes_nothing_does_not_make_the_others_one_cluster(tmp_path):
    rows = [
        {"stereotype": f"She is a good {w}.", "antistereotype": f"He is a good {w}."}
        for w in ("cook", "nurse", "singer", "dancer", "clerk")
    ]
    alone = {i.cluster for i in file.check(written(tmp_path / "mine.csv", rows)).data.items}
    rows.append({"stereotype": "All are here.", "antistereotype": "All are here."})
    again = file.check(written(tmp_path / "mine.csv", rows)).data
    assert len({i.cluster for i in again.items[:-1]}) == len(alone) == 5


def test_ids_that_stand_twice_and_sides_that_are_missing(tmp_path):
    found = findings(tmp_path, [{**r, "id": "7"} for r in sound()])
    assert "60 rows share an id" in told(found, "columns", "problem")
    half = [{**r, "group": "m" if n % 2 else ""} for n, r in enumerate(sound())]
    assert "only 30 of 60 rows have a 'group'" in told(findings(tmp_path, half), "directions")


def test_what_spreadsheets_add_is_taken_off(tmp_path):
    path = tmp_path / "mine.csv"
    lines = [
        "",
        "Stereotype,Antistereotype,,",
        *(f"{r['stereotype']},{r['antistereotype']},," for r in sound()),
    ]
    path.write_text("\n".join(lines))
    assert len(file.check(path).data.items) == 60
    (tmp_path / "mine.xlsx").write_bytes(b"PK\x03\x04")
    status, _, said = invoke("data", "check", tmp_path / "mine.xlsx")
    assert (status, "save it as CSV" in said) == (2, True)


def test_every_row_that_cannot_be_used_is_named_by_its_line_and_the_rest_is_checked(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(
        "category,stereotype,antistereotype\n"
        "age,The old man is slow.,The young man is slow.\n"
        "age,,The young man is weak.\n"
        "age,The old man is weak.,\n"
        "age,The old man is kind.,The old man is kind.\n"
        "age,,The young man is kind.\n"
    )
    checked = file.check(path)
    by_rows = {f.rows: f.sentence for f in checked.findings if f.rows and f.state == "problem"}
    assert by_rows[3, 6] == "the column 'stereotype' is empty: 2 rows."
    assert by_rows[4,] == "the column 'antistereotype' is empty: 1 row."
    assert by_rows[5,] == "both sentences are the same: 1 row."
    assert len(checked.rows) == len(checked.data.items) == 2
    path.write_text("stereotype,antistereotype\nThe man is here.,\n")
    with pytest.raises(DataError, match="no row can be used"):
        file.check(path)
