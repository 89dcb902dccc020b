"""Items for every type of measure, in sentences that no model of the lab was trained on.

Every item records what was planted in it: `unit` (an attribute word, or two that are compared),
`dose` (the planted log odds of group x), `turn` (1 if the stereotype names group x, else -1) and
`often` (the log ratio of the frequencies of the two swapped words). Group y is the rare one; nine
of ten items of `pairs-90` are about it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unmask.data.packaged import BLANK
from unmask.data.templates import template_test
from unmask.lab import words
from unmask.lab.language import draws
from unmask.lab.world import TOPICS, Frame, Topic, World, phrase
from unmask.text.contexts import Contexts, Mention, Source, WordTest
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Contrast, Dataset, Stimuli, Text

EACH = 12  # items per attribute word
IMBALANCE = 9  # factor by which items about the frequent group are fewer in `pairs-90`
NATURAL = 10  # natural contexts per word
FORM = {"occupation": "singular", "trait": "adjective", "family": "bare"}


def item_frames(world: World, topic: str, slots: str = "ga") -> list[Frame]:
    """Return the templates for items of a topic that have exactly these slots."""
    return [
        f
        for f in world.frames["items"]
        if f.topic == topic and all((f"{{{s}}}" in f.core) == (s in slots) for s in "ga")
    ]


def pairs(world: World, topics: Sequence[str] = TOPICS, name: str = "pairs-50") -> Dataset:
    """Return pairs that differ in the group's word: the attribute is assigned to either group."""
    rng = np.random.default_rng([90, world.plant.seed])
    items: list[Contrast] = []
    for topic in topics:
        subject, frames = world.topics[topic], item_frames(world, topic)
        for k, word in enumerate(subject.attributes):
            for number in range(EACH):
                frame = frames[rng.integers(len(frames))]
                form = str(rng.choice(list(subject.forms), p=list(subject.forms.values())))
                members = [_member(subject, g, form, rng) for g in range(2)]
                items.append(_pair(subject, k, word, number, frame, form, members))
    return Dataset(name, "pairs", tuple(items), "attribute word")


def _member(topic: Topic, group: int, form: str, rng: Any) -> str:
    return str(rng.choice(list(topic.members[group][form])))


def _pair(
    topic: Topic, k: int, word: str, number: int, frame: Frame, form: str, members: Sequence[str]
) -> Contrast:
    first = 0 if topic.side[k] == "A" else 1
    pair_texts = [_with_trait(frame, phrase(form, m), word) for m in members]
    texts = {STEREOTYPE: pair_texts[first], ANTISTEREOTYPE: pair_texts[1 - first]}
    often = [np.log(topic.members[g][form][m]) for g, m in enumerate(members)]
    meta = {
        "unit": word,
        "dose": float(topic.t[k]),
        "turn": 1 - 2 * first,
        "often": float(often[0] - often[1]),
    }
    return Contrast(f"{topic.name}/{word}/{number}", texts, topic.name, word, meta)


def _with_trait(frame: Frame, someone: str, word: str) -> Text:
    """A sentence with the place of its attribute marked."""
    at = frame.filled(someone, BLANK).index(BLANK)
    return Text(frame.filled(someone, word), {"trait": ((at, at + len(word)),)})


def unbalanced(data: Dataset, name: str = "pairs-90") -> Dataset:
    """The same pairs, nine of ten about the rare group."""
    rare = [i for i in data.items if i.meta["turn"] == -1]
    second = [i for i in data.items if i.meta["turn"] == 1][::IMBALANCE]
    return Dataset(name, data.shape, (*rare, *second), data.cluster)


def triplets(world: World) -> Dataset:
    """A sentence about someone with three fills: of side A, of side B, and a place or a flower."""
    items = list(_fills(world, two_parts=False))
    return Dataset("triplets", "triplets", tuple(items), "group word")


def continuations(world: World) -> Dataset:
    """Someone, and then one of three sentences with a word of side A, of side B, or neither."""
    items = list(_fills(world, two_parts=True))
    return Dataset("continuations", "continuations", tuple(items), "group word")


def _fills(world: World, two_parts: bool) -> Iterator[Contrast]:
    rng = np.random.default_rng([91, world.plant.seed, two_parts])
    for topic in TOPICS:
        subject = world.topics[topic]
        frames = [f for f in item_frames(world, topic) if (" . " in f.core) == two_parts]
        half, frequency = len(subject.attributes) // 2, subject.joint.sum(0)
        for k in range(half):
            for number in range(2 * EACH):
                group, form = number % 2, ("name", "term")[number // 2 % 2]
                word = _member(subject, group, form, rng)
                frame = frames[rng.integers(len(frames))]
                fills = [k, half + k] if group == 0 else [half + k, k]
                attributes = [subject.attributes[i] for i in fills]
                attributes.append(str(rng.choice(words.FLOWERS)))
                meta = {
                    "unit": f"{subject.attributes[k]}/{subject.attributes[half + k]}",
                    "dose": float(subject.t[k] - subject.t[half + k]),
                    "turn": 1,
                    "often": float(np.log(frequency[fills[0]] / frequency[fills[1]])),
                }
                texts = _texts(frame, phrase(form, word), attributes, two_parts)
                name = f"{topic}/{word}/{k}/{number}"
                yield Contrast(name, texts[0], topic, word, meta | texts[1])


def _texts(
    frame: Frame, someone: str, fills: Sequence[str], two_parts: bool
) -> tuple[dict[str, Text], dict[str, Any]]:
    blank = frame.filled(someone, BLANK)
    at = blank.index(BLANK)
    texts, start = {}, blank.index(" . ") + 3 if two_parts else 0
    for label, fill in zip((STEREOTYPE, ANTISTEREOTYPE, UNRELATED), fills, strict=True):
        string = blank.replace(BLANK, fill)
        span = ((at, at + len(fill)),)
        spans: Mapping[str, Any] = (
            {"context": ((0, start - 1),), "continuation": ((start, len(string)),)}
            if two_parts
            else {"fill": span, "word": span}
        )
        texts[label] = Text(string, spans)
    return texts, {"context": blank[: start - 1] if two_parts else blank}


def templates(world: World, form: str, topics: Sequence[str] = TOPICS, name: str = "") -> Dataset:
    """Template tests: the group's word is the hidden target."""
    items: list[Contrast] = []
    for topic in topics:
        subject = world.topics[topic]
        cores: dict[str, Frame] = {}
        for frame in item_frames(world, topic):
            if " . " not in frame.core:
                cores.setdefault(frame.core, frame)
        dataset = template_test(
            {
                "name": topic,
                "templates": [
                    {
                        "text": f.filled(phrase(form, "{target}"), "{attribute}"),
                        "x": list(subject.members[0][form]),
                        "y": list(subject.members[1][form]),
                    }
                    for f in list(cores.values())[:2]
                ],
                "attributes": {
                    s: [
                        w
                        for w, side in zip(subject.attributes, subject.side, strict=True)
                        if side == s
                    ]
                    for s in "AB"
                },
                "capital": False,
            }
        )
        for item in dataset.items:
            dose = float(subject.t[subject.attributes.index(item.cluster)])
            often = float(np.log(subject.joint.sum(0)[subject.attributes.index(item.cluster)]))
            meta = {"unit": item.cluster, "dose": dose, "turn": 1, "often": often}
            items.append(
                Contrast(
                    f"{topic}/{item.id}",
                    item.texts,
                    item.category,
                    item.cluster,
                    meta,
                    group=item.group,
                    template=f"{topic}/{item.template}",
                )
            )
    sides = {"sides": ["x", "y"]}
    return Dataset(name or f"templates-{form}s", "templates", tuple(items), "attribute word", sides)


def word_test(world: World, form: str) -> WordTest:
    """Attribute words of sides A and B, and the names or terms of the two groups."""
    forms: dict[str, str] = {}
    sides: dict[str, tuple[str, ...]] = {"A": (), "B": ()}
    doses: dict[str, tuple[float, float]] = {}
    for topic in TOPICS:
        subject = world.topics[topic]
        often = np.log(subject.joint.sum(0))
        for word, side, t, p in zip(
            subject.attributes, subject.side, subject.t, often, strict=True
        ):
            sides[side] += (word,)
            forms[word], doses[word] = FORM[topic], (float(t), float(p))
    members = world.topics[TOPICS[0]].members
    groups = {s: tuple(members[g][form]) for g, s in enumerate("xy")}
    kind = "name" if form == "name" else "singular"
    forms |= {w: kind for ws in groups.values() for w in ws}
    test = Stimuli(f"words-{form}s", sides, groups, forms=forms, meta={"doses": doses})
    return WordTest(test)


def control_words(world: World) -> WordTest:
    """Pleasant and unpleasant words, flowers and insects: planted alike in every world."""
    subject = world.topics["control"]
    doses = {w: (float(t), 0.0) for w, t in zip(subject.attributes, subject.t, strict=True)}
    sides = {"pleasant": tuple(words.PLEASANT), "unpleasant": tuple(words.UNPLEASANT)}
    groups = {"flowers": tuple(words.FLOWERS), "insects": tuple(words.INSECTS)}
    forms = dict.fromkeys(doses, "adjective")
    forms |= dict.fromkeys((*words.FLOWERS, *words.INSECTS), "singular")
    return WordTest(Stimuli("words-control", sides, groups, forms=forms, meta={"doses": doses}))


def natural(world: World, per_word: int = NATURAL) -> Source:
    """Sentences of the world in which words are met by its own probabilities."""
    rng = np.random.default_rng([92, world.plant.seed])
    mentions: dict[str, list[Mention]] = {}
    for frame, form, member, attribute, _ in draws(world, 4000, rng, "items"):
        string = f" {frame.filled(phrase(form, member), attribute)}"
        for slot, word in (("{g}", member), ("{a}", attribute)):
            if slot in frame.core and len(mentions.setdefault(word, [])) < per_word:
                at = string.index(f" {word} ") if f" {word} " in string else -1
                if at >= 0:
                    mentions[word].append(Mention(string[1:], (at, at + len(word))))

    def of(test: Stimuli) -> Contexts:
        words = {w for ws in test.sets.values() for w in ws}
        return {w: tuple(mentions[w]) for w in words if mentions.get(w)}

    return Source("natural", of)
