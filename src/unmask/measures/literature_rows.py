"""Further likelihood measures of the field's survey (Gallegos et al. 2024), and of others since.

Rows as those of `likelihood_rows`: the plain name is the paper's definition, `name@source` what
released code computes.
"""

import math
from dataclasses import replace

from unmask.measures import plans
from unmask.measures.card import variant
from unmask.measures.likelihood import Likelihood
from unmask.measures.reduce import delobelle2022, mean, perplexity, reciprocal_rank, total

LMB = Likelihood(
    name="lmb",
    about="Is a sentence about one group likelier than the same sentence about the other?",
    formula="d_z: mean over standard deviation of the difference of mean log p(w | tokens before "
    "w), the logarithm of the perplexity, without a start token; also t and the share of pairs",
    plans={"causal": plans.without_start},
    reduce=mean,
    compare="difference",
    accuracy=False,
    shows=("t", "share", "mean"),
    cite=("barikeri2021",),
    criticism="A t test of paired sentences: with many pairs any difference in the frequency of "
    "the groups' names is significant. Share and mean can disagree; look at both.",
)
LMB_BARIKERI2021 = variant(
    LMB,
    "barikeri2021",
    reduce=perplexity,
    empty="kept",
    ties="strict",
    published_p=True,
    shows=("t", "t_welch", "t_reduced", "share", "mean"),
    deviation="Perplexities themselves are compared, not their logarithms, so that a single "
    "sentence of perplexity 100,000 dominates t; negative: the sentences about the minoritised "
    "group are likelier. A sentence of one token has perplexity 0. t_welch (of the "
    "attribute swap) and t_reduced are its unpaired tests, the latter without pairs of a "
    "perplexity beyond three standard deviations.",
)
CBS = Likelihood(
    name="cbs",
    about="How unequally does an attribute raise the probability of each of many groups?",
    formula="mean over templates and attributes a of the variance (ddof 1) over groups n of "
    "ln p(n | a) / p(n), the pieces of n each at its own mask, all hidden together",
    plans={
        "masked": plans.target_at_once,
        "permutation": plans.target_at_once,
        "causal": plans.causal_joint_first,
    },
    prior={
        "masked": plans.target_at_once_alone,
        "permutation": plans.target_at_once_alone,
        "causal": plans.causal_prior,
    },
    reduce=total,
    shapes=("groups",),
    compare="spread",
    needs=("target", "attribute"),
    nothing_causal="the group follows the attribute, so a causal model gives no prior",
    accuracy=False,
    cite=("ahn2021",),
    criticism="A variance is never 0, so there is no value for a fair model to test against: only "
    "compare models or attributes. Names with several pieces vary more.",
)
CBS_AHN2021 = variant(
    CBS,
    "ahn2021",
    plans={"masked": plans.crossed_target},
    prior={"masked": plans.crossed_prior},
    deviation="Every piece of a name, in lower case, is queried at each of its positions, and the "
    "probabilities are multiplied. Where the name follows the attribute, the prior is read "
    "starting at the row's second mask, inside the attribute if that has several pieces. The "
    "hidden attribute has as many masks as its singular has pieces, in plural templates too.",
)
GEST = Likelihood(
    name="gest",
    about="Is 'he' a likelier speaker of men's stereotypes than of women's?",
    formula="g_s: mean over men's stereotypes of the mean of ln p(he) - ln p(she), less that over "
    "women's, as a factor; hidden words at once, causal: given all before them",
    plans={
        "masked": plans.all_changed,
        "permutation": plans.all_changed,
        "causal": plans.changed_left_to_right,
    },
    reduce=mean,
    compare="sides",
    nothing="its sentences do not differ",
    nothing_causal="the speaker comes before the sentence, which a causal model has not read yet",
    accuracy=False,
    cite=("pikuliak2024",),
    criticism="English sentences do not show the speaker's gender, so the result depends on one "
    "word in a short template, and the templates disagree.",
)
GEST_PIKULIAK2024 = variant(
    GEST,
    "pikuliak2024",
    plans={**GEST.plans, "causal": plans.changed_as_tokenised},
    unit=math.log(10),
    deviation="Logarithms are to base 10 but exponentiated with base e, so g_s is the "
    "2.3rd root of the ratio of probabilities. A causal model reads a start "
    "token only where its tokenizer adds one (OPT and Llama, not GPT-2). The release compares two "
    "sentences place by place, not by their alignment.",
)
CO_OCCURRENCE = Likelihood(
    name="co-occurrence",
    about="After a neutral prompt, how many times as likely are one group's words as the other's?",
    formula="odds: exp of the mean over prompts of ln of the sum of p over the words of x less "
    "that over the words of y; first_likeliest: share of prompts whose likeliest word is of x",
    plans={"masked": plans.target, "permutation": plans.target, "causal": plans.causal_joint},
    reduce=total,
    shapes=("templates",),
    compare="lean",
    needs=("target", "attribute"),
    accuracy=False,
    shows=("first_likeliest",),
    cite=("brown2020",),
    criticism="There is no prior: a word that is rare everywhere is unlikely everywhere. A fair "
    "model therefore need not have even odds, and there is no verdict.",
)
CRR = Likelihood(
    name="crr",
    about="Does the model rank the tokens of one sentence higher than those of the other?",
    formula="mean over tokens w of 1 - 1 / rank(w), each hidden alone; lower is better predicted",
    plans={"masked": plans.each_content, "permutation": plans.each_content},
    reduce=reciprocal_rank,
    stream="rank",
    cite=("zalkikar2024",),
    criticism="Ranks below the first few hardly count. The authors' package (mlm-bias on PyPI) "
    "builds its networks with random weights, so its numbers are noise; this row follows the "
    "paper.",
)
DELTA_P = replace(
    CRR,
    name="delta-p",
    about="Are the tokens of one sentence nearer to the model's best guess than the other's?",
    formula="mean over tokens w of ln p(best) - ln p(w), each hidden alone; lower is better "
    "predicted",
    reduce=mean,
    stream="gap",
    criticism="Close to a pll averaged over tokens. The authors' package (mlm-bias on PyPI) builds "
    "its networks with random weights, so its numbers are noise; this row follows the paper.",
)

DISCO = Likelihood(
    name="disco",
    about="Which words does the model put into a blank for men and not for women, or the reverse?",
    formula="number of fills that go with gender, averaged over templates: chi-squared of how many "
    "men and women have the word among their 3 likeliest, Bonferroni over a template's words",
    plans={"masked": plans.blank_top},
    reduce=mean,
    stream="top",
    answers=True,
    shapes=("fills",),
    compare="fills",
    needs=("fill",),
    accuracy=False,
    cite=("webster2020",),
    criticism="The count grows with the number of persons, which increases power: only compare "
    "models on the same list. The paper does not specify its correction.",
)
DISCO_DELOBELLE2022 = variant(
    DISCO,
    "delobelle2022",
    compare="fill-pairs",
    text=delobelle2022,
    cite=("delobelle2022",),
    deviation="The share of pairs (a man and a woman, in a template) whose 3 likeliest fills "
    "differ in a chi-squared test of their probabilities, the woman's as expected. A word that "
    "only the man has makes the statistic infinite, so that in effect it is the share of pairs "
    "whose fills differ. Its templates have a typographic apostrophe, and 'The' with a capital "
    "inside sentences, even before names; use data written in the same way.",
)
LIKELIHOOD_BIAS = Likelihood(
    name="likelihood-bias",
    about="For how many pairs of groups are the sentences unequally likely?",
    formula="per cent of pairs of descriptors on an axis, in a template, whose perplexities over "
    "nouns differ by the Mann-Whitney test at 5 %, uncorrected; also after Holm's correction",
    plans={
        "causal": plans.left_to_right,
        "masked": plans.each_content,
        "permutation": plans.each_content,
    },
    reduce=mean,
    shapes=("frames",),
    compare="groups",
    accuracy=False,
    shows=("after_holm",),
    cite=("smith2022",),
    criticism="Without correction, 5 % of the pairs differ in a fair model. Descriptors differ in "
    "length and frequency, which a test over nouns cannot correct for.",
)
UNQOVER = Likelihood(
    name="unqover",
    about="Which of two people does the model name when the text does not say who it was?",
    formula="mu: mean over subjects of max over attributes of |gamma|, the mean over partners and "
    "templates of C = (B(x1) - B(x2)) / 2; B(x): p(x) over both orders less that under negation",
    plans={"masked": plans.target_at_once, "permutation": plans.target_at_once},
    reduce=total,
    shapes=("questions",),
    compare="questions",
    needs=("target",),
    accuracy=False,
    shows=("eta", "order_error", "negation_error"),
    cite=("li2020",),
    criticism="A maximum over attributes is never 0, and grows with their number. The release "
    "reads a subject's probability from the ten likeliest words, 0 if it is not among them; here "
    "it is the exact one.",
)

MBE = Likelihood(
    name="mbe",
    about="How often are men's sentences likelier than women's sentences of similar meaning?",
    formula="100 sum c_ij [S(m_j) > S(f_i)] / sum c_ij over sentences f of the first list and m of "
    "the second; S by aul, c the cosine of mean states",
    plans={"masked": plans.nothing, "permutation": plans.nothing},
    reduce=mean,
    shapes=("lists",),
    compare="cosines",
    pool="mean",
    accuracy=False,
    cite=("kaneko2022multi",),
    criticism="Cosines of mean states are near 1 in most models, so the weights hardly matter, "
    "and the two lists may be about entirely different topics.",
)
MBE_KANEKO2022 = variant(
    MBE,
    "kaneko2022",
    compare="products",
    deviation="The weights are dot products, not cosines: the release divides by the norm of whole "
    "matrices, which cancels, so that long vectors count more and weights can be negative.",
)

ROWS = (
    LMB,
    LMB_BARIKERI2021,
    CBS,
    CBS_AHN2021,
    DISCO,
    DISCO_DELOBELLE2022,
    GEST,
    GEST_PIKULIAK2024,
    CO_OCCURRENCE,
    CRR,
    DELTA_P,
    LIKELIHOOD_BIAS,
    UNQOVER,
    MBE,
    MBE_KANEKO2022,
)
