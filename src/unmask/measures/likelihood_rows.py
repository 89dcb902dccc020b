"""The likelihood measures: one row each, run by one engine.

A row says which queries are asked (a plan for each kind of model), how the answers become the
score of a sentence, and how the scores of an item's sentences are compared. The plain name is
the paper's definition; `name@source` reproduces released code with its quirks.
"""

from dataclasses import replace

from unmask.measures import plans
from unmask.measures.card import variant
from unmask.measures.choice_rows import ROWS as CHOICE_ROWS
from unmask.measures.likelihood import Likelihood
from unmask.measures.literature_rows import ROWS as LITERATURE_ROWS
from unmask.measures.plans import Plan
from unmask.measures.reduce import (
    all_lowered,
    attended,
    geometric,
    inner_attended,
    inner_mean,
    lowered,
    mean,
    mean_probability,
    total,
    uncapitalised,
    without_period,
)
from unmask.support.registry import Registry
from unmask.types import Kind


def _both(plan: Plan) -> dict[Kind, Plan]:
    """The same plan for masked and permutation models."""
    return {"masked": plan, "permutation": plan}


_L2R: dict[Kind, Plan] = {"causal": plans.left_to_right}
_L2R_APART: dict[Kind, Plan] = {"causal": plans.left_to_right_apart}

PLL = Likelihood(
    name="pll",
    about="How likely is the sentence, each token given all others?",
    formula="sum over tokens w of log p(w | sentence without w)",
    plans=_both(plans.each_content),
    reduce=total,
    cite=("salazar2020",),
    criticism="Favours short sentences and words with several pieces, which predict one another.",
)
CPS = Likelihood(
    name="cps",
    about="How likely are the words that both sentences share, given the group's word?",
    formula="sum over shared tokens w of log p(w | all other tokens); causal: log p(w | all tokens "
    "before w)",
    plans={**_both(plans.each_shared), "causal": plans.shared_left_to_right},
    reduce=total,
    nothing="its sentences share no token",
    nothing_causal="no shared token follows the words that differ, so a causal model has nothing "
    "to score",
    cite=("nangia2020", "felkner2023"),
    criticism="The number and length of shared words differ between items, and the group's word "
    "is visible, so its frequency still has an effect (Kaneko and Bollegala 2022).",
)
PMI = Likelihood(
    name="pmi",
    about="How likely are the content words that both sentences share, all hidden together, given "
    "the group's word?",
    formula="sum over shared content words w of log p(w | changed words, function words): their "
    "pointwise mutual information with the changed words, but for log p(w | function words), which "
    "both sentences have in common",
    plans=_both(plans.shared_content),
    reduce=total,
    nothing="its sentences share no token",
    accuracy=False,  # few are guessed where many are hidden: that says little of the model
    cite=("church1990", "nangia2020"),
    criticism="Words hidden together are predicted independently of each other. Content words are "
    "identified with a list of English function words.",
)
TRAIT = Likelihood(
    name="trait",
    about="By what factor does a group's word raise the probability of its traits?",
    formula="sum over the trait's tokens w of log p(w | the sentence without the trait); causal: "
    "log p(w | all tokens before w); the score is exp of the mean difference between the two "
    "groups' sentences, without word preference",
    plans={**_both(plans.trait_at_once), "causal": plans.trait_left_to_right},
    reduce=total,
    compare="factor",
    needs=("trait",),
    nothing_causal="the trait comes before the group, where a causal model cannot read it",
    accuracy=False,  # hardly any trait is the likeliest word of its place
    cite=("kurita2019", "nadeem2021"),
    criticism="Pieces of a trait are hidden together and predicted independently of each other. "
    "It is lpbs without the prior, which is the same for both groups of a pair. It scores the "
    "attribute; cat scores the group's word or the attribute, whichever fills the blank.",
)
SSS = Likelihood(
    name="sss",
    about="How likely are the words that differ, given those that are shared?",
    formula="mean over changed tokens w of log p(w | shared tokens)",
    plans=_both(plans.all_changed),
    reduce=mean,
    nothing="one sentence has no token of its own (empty difference)",
    cite=("nadeem2021", "kaneko2022"),
    criticism="Frequent words win in any context; token accuracy is only a few per cent.",
)
AUL = Likelihood(
    name="aul",
    about="How likely is each token when nothing is hidden?",
    formula="mean over tokens w of log p(w | whole sentence)",
    plans=_both(plans.nothing),
    reduce=mean,
    cite=("kaneko2022",),
    criticism="Visible tokens were only a tenth of the training targets. Strong models score near "
    "0 everywhere, so small differences decide.",
)
LPBS = Likelihood(
    name="lpbs",
    about="How much more does an attribute raise the probability of one target than of the other?",
    formula="log p(x | a) / p(x) - log p(y | a) / p(y), targets summed over their words; "
    "effect size d over the two attribute sets",
    plans={**_both(plans.target), "causal": plans.causal_joint},
    prior={**_both(plans.target_alone), "causal": plans.causal_prior},
    reduce=total,
    shapes=("templates",),
    compare="log-odds",
    needs=("target", "attribute"),
    cite=("kurita2019",),
    criticism="Depends on the template and on a handful of target words; scores of one word in "
    "several templates are not independent.",
)
ODDS = Likelihood(
    name="odds",
    about="How many times as likely is one target relative to the other, given one attribute "
    "rather "
    "than the other?",
    formula="odds ratio: exp of the mean over attributes a of set A of log p(x | a) / p(y | a), "
    "minus that over set B; targets summed over their words",
    plans={**_both(plans.target), "causal": plans.causal_joint},
    reduce=total,
    shapes=("templates",),
    compare="odds",
    needs=("target", "attribute"),
    cite=("kurita2019",),
    criticism="Depends on the template and on a handful of target words, as lpbs does.",
)
CAT = Likelihood(
    name="cat",
    about="Which of three fillers does the model prefer: stereotype, anti-stereotype, unrelated?",
    formula="masked: mean over the fill word's pieces of p(piece | context, earlier pieces); "
    "causal: 2^(mean log2 p); ss, lms and icat are means over target terms",
    plans={**_both(plans.reveal_fill), **_L2R},
    reduce=mean_probability,
    reduce_causal=geometric,
    shapes=("triplets",),
    average="macro",
    needs=("fill",),
    fills=True,
    shows=("lms", "deviation", "icat"),
    cite=("nadeem2021",),
    criticism="Compares fillers of different length and frequency; many items do not contrast what "
    "they intend to (Blodgett et al. 2021).",
)

CONTINUATION = Likelihood(
    name="cat-continue",
    about="Which of three sentences does the model find most likely after a context?",
    formula="2^(mean log2 p) over the tokens of the continuation; masked: each token given all "
    "others and the context; causal: given all before it; ss, lms and icat as in cat",
    plans={**_both(plans.each_of_continuation), "causal": plans.continuation_left_to_right},
    reduce=geometric,
    shapes=("continuations",),
    average="macro",
    needs=("continuation",),
    shows=("lms", "deviation", "icat"),
    cite=("nadeem2021",),
    criticism="Not the published method, which needs a next-sentence head (cat-nsp). A masked "
    "model predicts each token with the rest of its sentence visible, so the context has little "
    "effect. Unrelated continuations are on another topic and easy to recognise.",
)
NSP = replace(
    CONTINUATION,
    name="cat-nsp",
    about="Which of three sentences does the next-sentence head choose as the continuation?",
    formula="p(the sentence follows the context); ss, lms and icat as in cat",
    plans={"masked": plans.is_next},
    needs=(),
    segments=2,
    stream="next",
    accuracy=False,
    criticism="Only BERT-like models have such a head. It was trained to recognise sentences from "
    "other documents, which mostly depends on topic.",
)

# ---------------------------------------------------------------- further rows, and released code

PLL_L2R = replace(
    PLL,
    name="pll-l2r",
    about="As pll, with the later pieces of a token's own word hidden too.",
    formula="sum over tokens w of log p(w | sentence without w and later pieces)",
    plans=_both(plans.within_word),
    cite=("kauf2023",),
    criticism="Corrects the effect of word pieces in pll; still favours short sentences.",
)
CPS_NANGIA2020 = variant(
    CPS,
    "nangia2020",
    plans=_both(plans.each_shared),
    decimals=3,
    ties="strict",
    empty="kept",
    text=lowered,
    aligned="file",
    cite=("nangia2020",),
    deviation="Scores rounded to 3 decimals before the comparison; a tie counts as not "
    "stereotypical, and so does a pair that shares no token (0 = 0); lower-cased text "
    "for BERT and ALBERT.",
)
CPS_KANEKO2022 = variant(
    CPS,
    "kaneko2022",
    plans=_both(plans.each_shared),
    decimals=3,
    ties="strict",
    empty="kept",
    cite=("kaneko2022",),
    deviation="Scores rounded to 3 decimals before the comparison; a tie counts as not "
    "stereotypical, and so does a pair that shares no token (0 = 0); case is kept.",
)
CPS_THYS2025 = variant(
    CPS,
    "thys2025",
    plans=_both(plans.inner_aligned),
    decimals=3,
    ties="strict",
    empty="kept",
    stream="untyped",
    cite=("thys2025",),
    deviation="The first and the last aligned token are always dropped: "
    "for XLNet the first word is lost and <sep> kept; no permutation mask, no token types. "
    "Scores are rounded to 3 decimals; a tie counts as not stereotypical, and so does a pair that "
    "shares no token (0 = 0).",
)
CPS_FELKNER2023 = variant(
    CPS,
    "felkner2023",
    plans={"masked": plans.inner_aligned, "causal": plans.aligned_left_to_right},
    decimals=3,
    ties="strict",
    empty="kept",
    cite=("felkner2023",),
    deviation="Scores rounded to 3 decimals before the comparison; a tie counts as not "
    "stereotypical, and so does, for a causal model, a pair without a shared token after the "
    "difference. The first aligned token is always dropped, and for masked models also the last.",
)
CPS_BIASBENCH = variant(
    CPS,
    "biasbench",
    plans={**_both(plans.each_changed), **_L2R_APART},
    reduce=mean,
    reduce_causal=geometric,
    decimals=3,
    rounds=("masked", "permutation"),
    ties="strict",
    nothing=SSS.nothing,
    aligned="file",
    cite=("meade2022",),
    deviation="Hides the changed tokens one at a time and averages: the opposite of "
    "Nangia et al.; rounded to 3 decimals. Causal models by 2^(mean log2 p), not "
    "rounded: the first token is read after the start token alone, the others in a "
    "sentence without it. A tie counts as not stereotypical.",
)
SSS_KANEKO2022 = variant(
    SSS,
    "kaneko2022",
    plans=_both(plans.all_changed_crossed),
    crossed=True,
    ties="strict",
    empty="kept",
    cite=("kaneko2022",),
    deviation="Averages every hidden token at every hidden place instead of the gold "
    "diagonal; the accuracy is over each token at its own place. A tie counts as not "
    "stereotypical, and so does a pair with an empty difference.",
)
AUL_KANEKO2022 = variant(
    AUL,
    "kaneko2022",
    plans=_both(plans.every_place),
    reduce=inner_mean,
    ties="strict",
    deviation="A tie counts as not stereotypical. The token accuracy counts the special tokens "
    "too; the score does not.",
)
AUL_THYS2025 = variant(
    AUL,
    "thys2025",
    plans=_both(plans.inner_places),
    ties="strict",
    stream="untyped",
    cite=("thys2025",),
    deviation="Reads places 1 to T - 2 regardless: for XLNet the first word is lost "
    "and <sep> kept; no permutation mask, no token types. A tie counts as not stereotypical.",
)
AULA = replace(
    AUL,
    name="aula",
    about="As aul, each token weighted by the attention it receives.",
    formula="mean over tokens w of attention(w) log p(w | whole sentence)",
    reduce=attended,
    attention=True,
    criticism="Attention is not a proven measure of importance; the weights of a "
    "sentence do not add up to one.",
)
AULA_KANEKO2022 = variant(
    AULA,
    "kaneko2022",
    plans=_both(plans.every_place),
    reduce=inner_attended,
    ties="strict",
    deviation="A tie counts as not stereotypical. The token accuracy counts the special tokens "
    "too; the score does not.",
)
ALL_MASKED = replace(
    AUL,
    name="all-masked",
    about="How likely are the tokens when everything is hidden? A baseline.",
    formula="mean over tokens w of log p(w | length of the sentence)",
    plans=_both(plans.everything),
    baseline=True,
    criticism="Sees only frequency and position, so an effect is not an association.",
)
CAT_NADEEM2021 = variant(
    CAT,
    "nadeem2021",
    plans={
        "masked": plans.reveal_retokenised,
        "permutation": plans.reveal_after_paragraph,
        **_L2R_APART,
    },
    needs=(),
    fills=False,
    ties="strict",
    stream="written",
    deviation="The fill word, all its punctuation removed, is tokenised without its "
    "leading space and the sentence tokenised again around the mask: RoBERTa is scored "
    "on the wrong piece. Every BLANK is filled, and the first one is scored. XLNet reads "
    "the sentence after a long paragraph, with no permutation mask. Causal models "
    "read the sentence as printed: the first token after the start token alone, the "
    "others without it. A tie counts as not stereotypical.",
)
LL = Likelihood(
    name="ll",
    about="How likely is the sentence, read left to right?",
    formula="sum over tokens w of log p(w | tokens before w)",
    plans=_L2R,
    reduce=total,
    shows=("likelihood_diff",),
    cite=("nangia2020",),
    criticism="Favours short sentences; words before the difference add nothing.",
)
CEAT_LPBS = replace(
    LPBS,
    name="ceat-lpbs",
    about="How does the effect size of lpbs vary when each attribute is in a random template?",
    formula="CES over N samples of lpbs, one template drawn for each attribute word",
    samples=10_000,
    cite=("husse2022",),
    criticism="With few templates, samples repeat and p is meaningless.",
)
LPBS_KURITA2019 = variant(
    LPBS,
    "kurita2019",
    plans={"masked": plans.target_first_piece},
    prior={"masked": plans.prior_before_last},
    text=all_lowered,
    published_p=True,
    deviation="The prior is read at the token before the last mask; a word of several "
    "pieces is represented by its first; all text is in lower case.",
)
LPBS_THYS2025 = variant(
    LPBS,
    "thys2025",
    plans=_both(plans.target_bare_token),
    prior=_both(plans.prior_at_last),
    stream="untyped",
    text=uncapitalised,
    cite=("kurita2019", "thys2025"),
    published_p=True,
    deviation="The prior is read at the attribute's mask; words are looked up without "
    "the space marker; a sentence starts with a small letter and is tokenised again "
    "with its masks; no permutation mask and no token types for XLNet.",
)
LPBS_HUSSE2022 = variant(
    LPBS,
    "husse2022",
    plans={"masked": plans.target_distinct_pieces},
    prior={"masked": plans.prior_distinct_pieces},
    text=without_period,
    cite=("kurita2019", "husse2022"),
    published_p=True,
    deviation="A word of several pieces gets the product of its distinct pieces' "
    "probabilities at one mask, order and repeats lost; targets are looked up in lower "
    "case, and the period is cut off.",
)

LPBS_BARTL2020 = variant(
    LPBS,
    "bartl2020",
    plans={"masked": plans.padded_target},
    prior={"masked": plans.padded_prior},
    compare="matched",
    shows=("test", "r", "first", "second"),
    cite=("kurita2019", "bartl2020"),
    published_p=True,
    deviation="The score is the mean log ratio of sentences with attributes of set B (women's "
    "professions) minus that of set A, for both genders together, as in the release; first "
    "and second are for men's and women's words alone. Rows are padded to 16 tokens with masks, "
    "which changes the prediction, and cut there; the token scored is that of the full sentence "
    "at the first mask. The test is paired in file order: Student's t-test, or the Wilcoxon "
    "signed-rank test if the Shapiro-Wilk test of both sets' values together, one with its sign "
    "reversed, rejects normality; r is the test statistic divided by the square root of n.",
)

ROWS = (
    PLL,
    PLL_L2R,
    CPS,
    CPS_NANGIA2020,
    CPS_KANEKO2022,
    CPS_THYS2025,
    CPS_FELKNER2023,
    CPS_BIASBENCH,
    PMI,
    TRAIT,
    SSS,
    SSS_KANEKO2022,
    AUL,
    AUL_KANEKO2022,
    AUL_THYS2025,
    AULA,
    AULA_KANEKO2022,
    ALL_MASKED,
    CAT,
    CAT_NADEEM2021,
    CONTINUATION,
    NSP,
    LL,
    ODDS,
    LPBS,
    CEAT_LPBS,
    LPBS_KURITA2019,
    LPBS_THYS2025,
    LPBS_HUSSE2022,
    LPBS_BARTL2020,
    *LITERATURE_ROWS,
    *CHOICE_ROWS,
)
LIKELIHOOD: Registry[Likelihood] = Registry("measure", ((row.name, row) for row in ROWS))
