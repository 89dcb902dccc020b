"""Further statistics over the vectors of word sets: one row each.

They were designed for static vectors, but accept any: files, layer 0, pooled states. Most are
indices that are never negative, so a fair model does not scatter around their ideal: they have an
interval, and no verdict.
"""

import math
from dataclasses import replace

from unmask.measures.association import Association
from unmask.stats import word_statistics as stats

RND = Association(
    name="rnd",
    about="Are the attribute words further from one group's mean vector than from the other's?",
    formula="mean over a of |a - mean of X| - |a - mean of Y|; raw vectors, Euclidean distance",
    pool={"*": "word-mean"},
    test="jackknife",
    statistic=stats.relative_norm_distance,
    turned=True,
    each=True,
    contexts="bare",
    kinds=("static", "masked", "causal", "permutation", "encoder", "elmo"),
    cite=("garg2018",),
    criticism="In units of the vectors, so models cannot be compared. With raw vectors, the length "
    "of a group's mean, and so its word frequency, matters as much as the angle.",
)
RIPA = replace(
    RND,
    turned=False,
    name="ripa",
    about="Do the attribute words lie along the line from one group's word to the other's?",
    formula="mean over pairs i and attributes a of a . (x_i - y_i) / |x_i - y_i|; raw vectors",
    statistic=stats.relative_inner_product,
    paired="targets",
    cite=("ethayarajh2019",),
    criticism="In units of the vectors, so models cannot be compared. Needs pairs that differ only "
    "in the group.",
)
MAC = replace(
    RND,
    turned=False,
    name="mac",
    about="How far apart in angle are all target words and the attribute sets, on average?",
    formula="mean over targets t and sets A of mean over a in A of 1 - cos(t, a)",
    statistic=stats.mean_average_cosine,
    within=(0.0, 2.0),
    each=False,
    ideal=1.0,
    tested=False,
    cite=("manzini2019",),
    criticism="Ignores groups: words that are close to everything, as in anisotropic models, lower "
    "it for all groups alike.",
)
ECT = replace(
    RND,
    turned=False,
    name="ect",
    about="Do the attribute words have the same order of nearness to both groups?",
    formula="Spearman's correlation over a of cos(mean of X, a) with cos(mean of Y, a)",
    statistic=stats.coherence,
    within=(-1.0, 1.0),
    ideal=1.0,
    tested=False,
    cite=("dev2019",),
    criticism="A correlation over a handful of words. It is high whenever the groups' mean vectors "
    "are close to each other, for any words.",
)
RNSB = replace(
    RND,
    turned=False,
    name="rnsb",
    about="Does a classifier rate all targets as equally negative?",
    formula="KL divergence from uniform of q, the targets' probabilities of being negative, "
    "scaled to "
    "sum 1, by a logistic regression (l2, C = 1) of the two attribute sets, the first positive",
    statistic=stats.negative_sentiment,
    within=(0.0, math.inf),
    each=False,
    tested=False,
    cite=("sweeney2019",),
    criticism="Shows how unequal the targets are, but not which group is worse off. It is trained "
    "on all attribute words; WEFE holds out a random fifth, so its number changes from run to "
    "run.",
)
SAME = replace(
    RND,
    turned=False,
    name="same",
    about="How far do the targets lie along the direction between the attribute sets?",
    formula="mean over targets of |cos(w, b)|, b = mean of unit A - mean of unit B; with more sets "
    "also further directions, orthogonal to the earlier ones, weighted by their length",
    statistic=stats.same,
    within=(0.0, math.inf),
    each=False,
    tested=False,
    beside={"skew": stats.same_skew, "stereotype_sd": stats.same_stereotype},
    cite=("schroeder2021",),
    criticism="A mean of absolute values is never 0, least of all in few dimensions or with few "
    "words.",
)
DIRECT_BIAS = replace(
    RND,
    turned=False,
    name="direct-bias",
    about="How far do neutral words lie along the direction of definitional pairs?",
    formula="mean over targets of |cos(w, g)|, g the first principal component of the pairs' words "
    "(A_i, B_i), each less the pair's mean; unit vectors, c = 1",
    statistic=stats.direct_bias,
    within=(0.0, 1.0),
    each=False,
    tested=False,
    paired="attributes",
    cite=("bolukbasi2016",),
    criticism="The first component is that of the group only if the pairs differ only in the "
    "group. A mean of absolute values is never 0. Bias remains after this component is removed "
    "(Gonen and Goldberg 2019).",
)
GENERALISED_WEAT = replace(
    RND,
    turned=False,
    name="gweat",
    about="As weat, for any number of groups: is each target set nearer to its own attribute set?",
    formula="sum over i of (mean X_i - mean X) . (mean A_i - mean A), of unit vectors",
    statistic=stats.generalised_weat,
    each=False,
    cite=("swinger2019",),
    criticism="Not divided by a standard deviation, so models cannot be compared.",
)

ROWS = (RND, RIPA, MAC, ECT, RNSB, SAME, DIRECT_BIAS, GENERALISED_WEAT)
