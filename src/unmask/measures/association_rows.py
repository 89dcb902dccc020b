"""The association measures: one row each. Words in contexts are embedded and angles compared."""

from unmask.measures.association import Association, Pool
from unmask.measures.card import variant
from unmask.measures.word_statistic_rows import ROWS as WORD_STATISTICS
from unmask.support.registry import Registry
from unmask.types import Kind

_TRANSFORMERS: tuple[Kind, ...] = ("masked", "causal", "permutation", "encoder")
_ANY_WORD: dict[str, Pool] = {"*": "word-mean"}
_SENTENCE: dict[str, Pool] = {
    "masked": "cls",
    "permutation": "cls",
    "causal": "last",
    "encoder": "mean",
    "elmo": "mean",
}
_D = "d = (mean s over X - mean s over Y) / sd of s; s(w) = mean cos(w, A) - mean cos(w, B)"

WEAT = Association(
    name="weat",
    about="Are the words of X closer to A and those of Y closer to B, each word on its own?",
    formula=_D,
    pool=_ANY_WORD,
    test="permutation",
    contexts="bare",
    kinds=("static", "masked", "causal", "permutation", "encoder", "elmo"),
    cite=("caliskan2017",),
    criticism="Made for static vectors: a contextual model rarely sees a word alone. Cosines "
    "depend on word frequency (Ethayarajh et al. 2019).",
)
S_SEAT = Association(
    name="s-seat",
    about="As weat, on the vectors of short sentences that contain little besides the word.",
    formula=_D + ", of sentence vectors",
    pool=_SENTENCE,
    test="permutation",
    cite=("may2019",),
    criticism="Language models without sentence-level training have poor sentence vectors; a null "
    "result proves nothing.",
)
W_SEAT = Association(
    name="w-seat",
    about="As weat, on the word's own vector in such sentences.",
    formula=_D + ", of word vectors in context",
    pool=_ANY_WORD,
    test="permutation",
    cite=("tan2019",),
    criticism="Depends on templates, piece pooling and layer: vary them first, then conclude.",
)
CEAT = Association(
    name="ceat",
    about="How does weat's effect size vary when each word is in a random context?",
    formula="CES = sum v_i d_i / sum v_i over N samples, v_i = 1 / (variance of s + tau^2)",
    pool=_ANY_WORD,
    test="random-effects",
    samples=10_000,
    cite=("guo2021",),
    criticism="The weights use the variance of the associations, not of the effect size. The user "
    "chooses N, and p shrinks as N grows.",
)

# ---------------------------------------------------------------- released code

WEAT_WEFE = variant(
    WEAT,
    "wefe",
    published_p=True,
    sided="one",
    ddof=0,
    cite=("caliskan2017", "badilla2020"),
    deviation="The standard deviation has n in its denominator, not n - 1, so d is larger by "
    "sqrt(n / (n - 1)). p is not from a permutation test: words are drawn with replacement, and p "
    "is (hits + 1) / (draws + 1), where a hit is a draw whose sum of associations exceeds the "
    "observed one. With fewer than 8 words, there are as many draws as orders of the words. WEFE "
    "uses a word's vector as it is, counts a word of both target sets once, and gives no number if "
    "a fifth of a set is missing. Here such a word counts in each set, and the rest is scored.",
)
S_SEAT_MAY2019 = variant(
    S_SEAT,
    "may2019",
    published_p=True,
    sided="one",
    pool={"causal": "last", "encoder": "first", "*": "first"},
    encode="no-specials",
    kinds=_TRANSFORMERS,
    deviation="No [CLS] or [SEP] is added, so the first position is the first piece "
    "of the first word. Not for ELMo: the release passes it a string, so it reads "
    "characters instead of words.",
)
S_SEAT_BIASBENCH = variant(
    S_SEAT,
    "biasbench",
    published_p=True,
    sided="one",
    pool={"*": "mean-all"},
    kinds=_TRANSFORMERS,
    cite=("meade2022",),
    deviation="The mean over all positions, including special tokens. The release has no ELMo.",
)
W_SEAT_TAN2019 = variant(
    W_SEAT,
    "tan2019",
    published_p=True,
    sided="one",
    pool={"causal": "after-word", "*": "word-first"},
    encode="tan2019",
    kinds=("masked", "causal"),
    deviation="The last character is cut off, words are tokenised separately, [SEP] is "
    "lost, the first piece is used; GPT-2 reads one position too late. For a capitalised plural "
    "phrase (European Americans), a word other than the last is read.",
)
W_SEAT_HUSSE2022 = variant(
    W_SEAT,
    "husse2022",
    published_p=True,
    sided="one",
    encode="husse2022",
    kinds=("masked", "causal"),
    subsample=True,
    cite=("husse2022",),
    deviation="The final period is cut off. The position of a one-piece word is its word index in "
    "the sentence, however many pieces the earlier words have; a stimulus of several words is the "
    "mean of that many positions, starting at its first word's index. A single word is read at the "
    "last token that is any word of the set; for a stimulus of several words, the first stimulus "
    "of the set that occurs in the sentence is read instead. A hyphen counts as a word. If target "
    "sets differ in size, the larger is cut at random. Not for ELMo, whose state the release "
    "carries from sentence to sentence.",
)
CEAT_GUO2021 = variant(
    CEAT,
    "guo2021",
    published_p=True,
    sided="one",
    samples=1000,
    encode="guo2021",
    kinds=("masked", "causal"),
    deviation="One-sided p, N = 1000. No special tokens. Only nine words of a sentence are "
    "kept around the word's first occurrence (eight if it is in the middle), and the word "
    "is read at the first position that has the id of its last piece.",
)
CEAT_HUSSE2022 = variant(
    CEAT,
    "husse2022",
    published_p=True,
    reuse=False,
    encode="husse2022",
    kinds=("masked", "causal"),
    subsample=True,
    cite=("guo2021", "husse2022"),
    deviation="Contexts drawn without replacement where a word has at least N; words "
    "are read as in w-seat@husse2022.",
)

ROWS = (
    WEAT,
    WEAT_WEFE,
    S_SEAT,
    S_SEAT_MAY2019,
    S_SEAT_BIASBENCH,
    W_SEAT,
    W_SEAT_TAN2019,
    W_SEAT_HUSSE2022,
    CEAT,
    CEAT_GUO2021,
    CEAT_HUSSE2022,
    *WORD_STATISTICS,
)
ASSOCIATION: Registry[Association] = Registry("measure", ((row.name, row) for row in ROWS))
