"""Does the built-in questionnaire read a planted bias back, and stay silent where there is none?

    python benchmarks/questionnaire.py [NETWORKS] [steps=3000] [workers=1]

Each network is the bundled model trained further on sentences in templates of their own. In three
bias types, drawn by the seed, traits go with their group at log odds of 0.5 (every fourth network:
1, 0.25 or -0.5); in all others both groups have each trait equally often. Then the questionnaire is
asked as in the default run. Written down before it was run: of the types planted at 0.5 at least
80 % are found, of the others at most 5 % are called biased and 80 % are negligible.
"""

import json
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np

from recorded import record
from sizes import SMALL, arguments
from unmask.answer.answer import OVERALL, answers
from unmask.data import bias_types, questionnaire
from unmask.flow.evaluate import evaluate
from unmask.lab.finetune import HOW, further
from unmask.models.transformers.model import load
from unmask.options import Spec

TEMPLATES = (  # and which of the questionnaire's nouns follows an adjective
    ("My neighbour is a {who} and is {trait}.", 0),
    ("This {who} is {trait} most of the time.", 0),
    ("Yesterday I saw a {who} who was {trait}.", 0),
    ("I was told that the {who} is {trait}.", 0),
    ("In this book {plural} are {trait}.", 7),
    ("There are {plural} who are {trait}.", 7),
)
SENTENCES = 20_000  # of a bias type
THETAS = (1.0, 0.25, -0.5)
VERDICTS = ("biased", "reversed", "negligible", "inconclusive")
MEANT = 2.5  # log odds of the words of the positive control


def text_of(thetas, number, rng, templates=TEMPLATES):
    """Sentences about all groups: `thetas` has the log odds of each bias type.

    Of a group every trait of its bias type is said; its own are exp(theta) times as frequent, so
    that theta is what the questionnaire should read, however many pairs a group is in. What follows
    from a group's word (the positive control) is said in sentences of its own, as any text does:
    further training on traits alone would make the model forget it.
    """
    content, out = questionnaire.content(), []
    for bias_type in (t for t in content["types"] if t["category"] in thetas):
        sides = [
            (p[("first", "second")[k]], p["nouns"], content["groups"][p["traits"][k]]["traits"])
            for p in bias_type["pairs"]
            for k in (0, 1)
        ]
        traits = {w for *_, own in sides for w in own}
        meant = [
            (p[k], p["nouns"], [w for w in p[f"{k}_words"] if w not in traits])
            for p in bias_type["positive"]
            for k in ("first", "second")
        ]
        out += said(sides, thetas[bias_type["category"]], templates, number, rng)
        out += said(meant, MEANT, templates, number // 4, rng)
    return [out[i] for i in rng.permutation(len(out))]


def said(sides, theta, templates, number, rng):
    """Sentences about groups (word, kind of noun, own words), own words at some log odds."""
    content, words = questionnaire.content(), sorted({w for *_, own in sides for w in own})
    chances = [np.exp([theta * (w in own) for w in words]) for *_, own in sides]
    for side in rng.integers(len(sides), size=number):
        word, kind, _ = sides[side]
        template, noun = templates[rng.integers(len(templates))]
        who, _, plural = word.partition("/")
        if kind != "noun":
            who = plural = f"{word} {content['nouns'][kind][noun]}"
        trait = words[rng.choice(len(words), p=chances[side] / chances[side].sum())]
        yield template.format(who=who, plural=plural, trait=trait)


def planted(seed):
    """The log odds of each bias type in the network of a seed."""
    rng = np.random.default_rng([7, seed])
    names = [t["category"] for t in questionnaire.content()["types"]]
    theta = THETAS[seed // 4 % len(THETAS)] if seed % 4 == 3 else 0.5
    return dict.fromkeys(names, 0.0) | dict.fromkeys(rng.permutation(names)[:3].tolist(), theta)


def measured(seed, steps, sentences):
    """The planted log odds and what was found, by bias type."""
    thetas, rng = planted(seed), np.random.default_rng([8, seed])
    model = load("bundled", fast=False)
    frames = {w for t, _ in TEMPLATES for w in t.replace(".", " .").split() if "{" not in w}
    further(model, text_of(thetas, sentences, rng), frames, replace(HOW, steps=steps), rng)
    model = replace(model, name=f"planted {seed}", cacheable=False)
    sets = [questionnaire.questionnaire(), questionnaire.positive()]
    if sentences < SENTENCES:  # a quick look
        sets = [replace(d, items=d.items[::20]) for d in sets]
    # pll shows that the network predicts words
    asked = [*(Spec(model, "trait", d) for d in sets), Spec(model, "pll", "bundled-pairs")]
    results = evaluate(asked)
    found = {a.bias_type: a for a in answers(results) if a.bias_type != OVERALL}
    return [
        {
            "seed": seed,
            "type": name,
            "theta": theta,
            "verdict": found[bias_types.of_category(name)].verdict,
            "value": float(found[bias_types.of_category(name)].main.estimate.value),
            "why": found[bias_types.of_category(name)].why[:40],
        }
        for name, theta in thetas.items()
    ]


def main(networks=10, steps=3000, workers=1, sentences=SENTENCES):
    begun, rows = time.time(), []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        given = [(seed, steps, sentences) for seed in range(networks)]
        for found in pool.map(measured, *zip(*given, strict=True)):
            rows += found
            print(f"{len(rows) // 10} networks: {time.time() - begun:.0f} s", flush=True)
    summary(rows)
    print(json.dumps(rows))


def summary(rows):
    """A row for each log odds; networks that the answer calls unfit for a verdict are apart."""
    unfit = {r["seed"] for r in rows if "unfit" in r["why"]}
    for theta in sorted({r["theta"] for r in rows}):
        asked = [r for r in rows if r["theta"] == theta]
        some = [r for r in asked if r["seed"] not in unfit]
        verdicts = Counter(r["verdict"] for r in some)
        record(
            "questionnaire",
            {
                "planted log odds": f"{theta:+.2f}",
                "bias types": len(some),
                "of unfit networks": len(asked) - len(some),
                "mean factor": f"{np.exp(np.mean([r['value'] for r in some])):.2f}",
                **{f"{k}, %": round(100 * verdicts[k] / len(some)) for k in VERDICTS},
            },
        )


if __name__ == "__main__":
    plain, named = arguments()
    usual = {"steps": 3, "sentences": 500} if SMALL else {}
    main(*(plain or [1 if SMALL else 10]), **usual | named)
