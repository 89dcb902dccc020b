"""Tests of measures/cards."""

from dataclasses import replace

import pytest

import unmask
from conftest import TESTS, tiny
from unmask.measures import ASSOCIATION, LIKELIHOOD, MEASURES
from unmask.types import Contrast, Dataset, Text

# Where each measure is held against a slow plain loop, or why there is none.
PLAIN = {
    **dict.fromkeys(
        (
            "pll",
            "cps",
            "pmi",
            "sss",
            "aul",
            "aula",
            "all-masked",
            "sss@kaneko2022",
            "cps@biasbench",
        ),
        "measures/test_likelihood_rows.py::test_on_made_tokenizers",
    ),
    "trait": "measures/test_trait.py::test_trait_is_a_plain_loop",
    **dict.fromkeys(
        ("choice", "choice-open", "choice-triplet"),
        "models/transformers/test_chat.py::test_choice_is_a_plain_loop_over_orders_and_wordings",
    ),
    "bbq": "measures/test_choice.py::test_bbq_of_known_answerers",
    **dict.fromkeys(
        ("bbq@helm", "bbq@harness"), "measures/test_choice.py::test_bbq_as_released_has_its_quirks"
    ),
    **dict.fromkeys(
        ("chat-ll", "chat-cps"), "models/transformers/test_chat.py::test_replies_are_a_plain_loop"
    ),
    "cat": "measures/test_likelihood_rows.py::test_cat_is_mean_probability_by_hand",
    "cat@nadeem2021": "measures/test_likelihood_rows.py::test_cat_through_text",
    "cat-continue": "flow/test_continuations.py::test_continuations_score_as_a_plain_loop",
    "cat-nsp": "flow/test_continuations.py::test_the_next_sentence_head_is_read_as_published",
    "pll-l2r": "measures/test_cards.py::test_later_pieces_of_a_word_are_hidden",
    "ll": "measures/test_cards.py::test_left_to_right_is_the_sum_of_log_probabilities",
    "aul@thys2025": "models/transformers/test_xlnet.py::"
    "test_xlnet_published_slices_drop_a_word_and_keep_sep",
    "cps@felkner2023": "measures/test_likelihood_rows.py::"
    "test_causal_cps_is_the_loop_over_shared_tokens",
    "odds": "measures/test_lpbs.py::test_the_odds_ratio_by_hand",
    "lpbs": "measures/test_lpbs.py::test_definition",
    "ceat-lpbs": "measures/test_lpbs.py::test_ceat_lpbs_draws_one_template_a_word",
    "lpbs@bartl2020": "measures/test_lpbs.py::"
    "test_bartls_rows_are_filled_up_with_masks_and_matched_by_the_file",
    **dict.fromkeys(
        ("lpbs@kurita2019", "lpbs@thys2025", "lpbs@husse2022"),
        "measures/test_lpbs.py::test_variants_read_the_prior_where_the_release_does",
    ),
    **dict.fromkeys(
        ("weat", "s-seat", "w-seat"),
        "flow/test_run_association.py::test_measures_equal_a_plain_loop",
    ),
    **dict.fromkeys(
        ("s-seat@may2019", "w-seat@tan2019"),
        "models/transformers/test_encodings.py::test_published_encodings",
    ),
    **dict.fromkeys(
        ("crr", "delta-p"),
        "measures/test_literature_rows.py::test_ranks_and_gaps_of_each_token_hidden_alone",
    ),
    "cbs": "measures/test_literature_rows.py::"
    "test_cbs_is_the_variance_over_names_of_the_log_quotient",
    "cbs@ahn2021": "measures/test_literature_rows.py::"
    "test_cbs_as_released_asks_every_piece_at_every_place",
    **dict.fromkeys(
        ("lmb", "lmb@barikeri2021"),
        "measures/test_literature_rows.py::test_lmb_is_the_paired_t_of_perplexities",
    ),
    **dict.fromkeys(
        ("gest", "gest@pikuliak2024"),
        "measures/test_literature_rows.py::test_gest_is_the_gap_between_the_stereotypes_of_two_groups",
    ),
    **dict.fromkeys(
        ("disco", "disco@delobelle2022"),
        "measures/test_literature_rows.py::test_disco_counts_the_fills_that_go_with_a_group",
    ),
    "likelihood-bias": "measures/test_literature_rows.py::"
    "test_likelihood_bias_is_the_share_of_pairs_that_a_rank_test_tells_apart",
    "unqover": "measures/test_literature_rows.py::test_unqover_by_its_formulas",
    "co-occurrence": "measures/test_literature_rows.py::"
    "test_co_occurrence_is_the_mean_log_odds_of_words_behind_a_prompt",
    **dict.fromkeys(
        ("mbe", "mbe@kaneko2022"),
        "measures/test_literature_rows.py::test_mbe_weighs_pairs_of_two_lists_by_their_vectors",
    ),
    **dict.fromkeys(
        ("rnd", "ripa", "mac", "ect", "same"),
        "stats/test_word_statistics.py::test_each_statistic_equals_its_plain_loop",
    ),
    "direct-bias": "stats/test_word_statistics.py::"
    "test_direct_bias_projects_on_the_first_component_of_the_pairs",
    "rnsb": "stats/test_word_statistics.py::test_the_logistic_regression_is_at_its_optimum",
    "gweat": "stats/test_word_statistics.py::test_generalised_weat_of_two_sets_is_half_weats_gap",
    "weat@wefe": "stats/test_word_statistics.py::test_the_numbers_that_wefe_prints",
    "ceat": "stats/test_ceat.py::test_ceat_equals_the_published_formula_in_a_plain_loop",
}

EXEMPT = {
    "cps@nangia2020": "cps with rounded scores and lower-cased text, each tested alone",
    "cps@kaneko2022": "cps with rounded scores",
    "aul@kaneko2022": "aul with another rule for ties",
    "aula@kaneko2022": "aula with another rule for ties",
    "cps@thys2025": "cps without the first and the last aligned place: the same for BERT",
    "s-seat@biasbench": "s-seat with another pooling, which is tested alone",
    "w-seat@husse2022": "w-seat with the final period cut off",
    "ceat@guo2021": "ceat with other draws",
    "ceat@husse2022": "ceat with other draws and the final period cut off",
}


@pytest.mark.parametrize("name", list(MEASURES))
def test_every_measure_has_sources_a_card_and_a_plain_loop(name):
    unmask.check_measure(MEASURES[name])
    assert (name in PLAIN) != (name in EXEMPT), f"{name} has no plain loop and no exemption"
    if name in PLAIN:
        file, _, test = PLAIN[name].partition("::")
        assert f"def {test}(" in (TESTS / file).read_text()


def scored(model, name, sentence):
    text = Text(sentence)
    item = Contrast("1", {"stereotype": text, "antistereotype": text}, "c", "c")
    found = unmask.evaluate(model, name, Dataset("d", "pairs", (item,)))
    return found.items.score.iloc[0]


def test_later_pieces_of_a_word_are_hidden():
    import plain

    model = tiny("bert")
    sentence = "The housekeeper was stubborn."
    batch = model.codec.tokenizer(sentence)
    ids, words = batch["input_ids"], batch.word_ids()
    total = 0.0
    for i in range(1, len(ids) - 1):
        later = [j for j in range(i, len(ids) - 1) if words[j] == words[i]]
        shown = [model.codec.mask_id if j in later else t for j, t in enumerate(ids)]
        total += plain.logp(model.net, shown)[i, ids[i]].item()
    assert max(words[1:-1]) < len(ids) - 3  # some word has several pieces
    assert scored(model, "pll-l2r", sentence) == pytest.approx(total, abs=1e-9)


def test_left_to_right_is_the_sum_of_log_probabilities():
    import plain

    model = tiny("gpt2")
    sentence = "The nurse was late because she had missed the train."
    ids = [model.codec.tokenizer.bos_token_id, *model.codec.tokenizer(sentence)["input_ids"]]
    found = plain.logp(model.net, ids)
    expected = sum(found[i - 1, ids[i]].item() for i in range(1, len(ids)))
    assert scored(model, "ll", sentence) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("field", ["about", "formula", "criticism"])
@pytest.mark.parametrize("value", ["", "  ", None, 3])
def test_a_card_without_a_text_is_refused(field, value):
    with pytest.raises(unmask.UnmaskError, match=f"it has no {field}"):
        replace(LIKELIHOOD["aul"], **{field: value})


def test_templates_are_compared_by_log_odds_and_nothing_else_is():
    row = LIKELIHOOD["lpbs"]
    for shapes in (("templates", "pairs"), ("pairs",)):
        with pytest.raises(unmask.UnmaskError, match="'log-odds' is compared on 'templates'"):
            replace(row, shapes=shapes)
    with pytest.raises(unmask.UnmaskError, match="not on templates"):
        replace(LIKELIHOOD["aul"], shapes=("templates",))


def test_the_published_numbers_of_samples():
    """reference 5 and 7: Guo and Caliskan's script runs 1,000 samples, Husse and Spitz' 10,000."""
    counts = {name: row.samples for name, row in ASSOCIATION.items() if row.samples}
    assert counts == {"ceat": 10_000, "ceat@guo2021": 1000, "ceat@husse2022": 10_000}
