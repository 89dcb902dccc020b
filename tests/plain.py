"""Slow plain loops, one sentence at a time, written from the papers and the published code.

They share nothing with the package: ids from the tokenizer, places by slicing off the first and
the last token, difflib for alignment, one forward pass a sentence with its masked copies; no
padding.
"""

import difflib
import math
import string

import torch

from unmask.text.function_words import FUNCTION_WORDS


@torch.no_grad()
def logp(net, ids):
    return torch.log_softmax(net(input_ids=torch.tensor([ids])).logits[0].double(), -1)


@torch.no_grad()
def logp_each(net, copies, places):
    """At one place of each of some copies of one sentence, which are all of the same length.

    The head is most of a tiny network's work, so it is given those places only.
    """
    head = {"bert": "cls", "roberta": "lm_head", "albert": "predictions"}[net.config.model_type]
    states = net.base_model(input_ids=torch.tensor(copies))[0]
    chosen = states[torch.arange(len(copies)), torch.tensor(places)].unsqueeze(0)
    return torch.log_softmax(getattr(net, head)(chosen)[0].double(), -1)


def logp_at(net, ids, place):
    return logp_each(net, [ids], [place])[0]


def gold(logits, ids):
    """The log-probability of each token at its own place."""
    own = logits.double()[torch.arange(len(ids)), torch.tensor(ids)]
    return own - torch.logsumexp(logits.double(), -1)


def spans(a, b, want):
    """Places of `a` and `b` that are equal (`want='equal'`) or differ."""
    one, two = [], []
    matcher = difflib.SequenceMatcher(None, [str(x) for x in a], [str(x) for x in b])
    for tag, i, j, k, m in matcher.get_opcodes():
        if (tag == "equal") == (want == "equal"):
            one += list(range(i, j))
            two += list(range(k, m))
    return one, two


def content_marks(text):
    """For each character whether it is of a word that is no function word, one by one."""
    marks, start = [False] * len(text), 0
    while start < len(text):
        end = start
        while end < len(text) and text[end].isalnum():
            end += 1
        if end > start and text[start:end].lower() not in FUNCTION_WORDS:
            marks[start:end] = [True] * (end - start)
        start = max(end, start + 1)
    return marks


class Plain:
    """The measures on one pair of sentences."""

    def __init__(self, net, tokenizer):
        self.net, self.tok, self.seen = net, tokenizer, {}

    def ids(self, sentence):
        return self.tok(sentence)["input_ids"]

    def places(self, s, other, want, first):
        """Places of `s` that `other` shares or lacks; the stereotype always comes first."""
        pair = (self.ids(s), self.ids(other)) if first else (self.ids(other), self.ids(s))
        return spans(*pair, want)[0 if first else 1]

    def masked(self, ids, hidden):
        return [self.tok.mask_token_id if i in hidden else t for i, t in enumerate(ids)]

    def each(self, ids, places, hidden=None):
        keys = []
        for i in places:
            shown = self.masked(ids, {i} if hidden is None else hidden)
            keys.append((*shown, i, ids[i]))
        new = [key for key in keys if key not in self.seen]  # PLL and CPS share their copies
        if new:
            found = logp_each(self.net, [list(k[:-2]) for k in new], [k[-2] for k in new])
            self.seen |= {k: row[k[-1]].item() for k, row in zip(new, found, strict=True)}
        return [self.seen[key] for key in keys]

    def pll(self, s, other, first=True):
        ids = self.ids(s)
        return sum(self.each(ids, range(1, len(ids) - 1)))

    @torch.no_grad()
    def in_sight(self, ids):
        """Log-probabilities of the tokens in plain sight and the attention they receive."""
        key = ("in sight", *ids)
        if key not in self.seen:
            before = self.net.config._attn_implementation
            self.net.set_attn_implementation("eager")
            out = self.net(input_ids=torch.tensor([ids]), output_attentions=True)
            self.net.set_attn_implementation(before)
            weights = torch.stack([a[0] for a in out.attentions]).double().mean(0).mean(0).mean(0)
            self.seen[key] = gold(out.logits[0], ids), weights
        return self.seen[key]

    def aul(self, s, other, first=True):
        ids = self.ids(s)
        found, _ = self.in_sight(ids)
        return sum(found[i].item() for i in range(1, len(ids) - 1)) / (len(ids) - 2)

    def aula(self, s, other, first=True):
        ids = self.ids(s)
        found, weights = self.in_sight(ids)
        places = range(1, len(ids) - 1)
        return sum((found[i] * weights[i]).item() for i in places) / (len(ids) - 2)

    def all_masked(self, s, other, first=True):
        ids = self.ids(s)
        places = list(range(1, len(ids) - 1))
        return sum(self.each(ids, places, set(places))) / len(places)

    def cps(self, s, other, first=True):
        ids = self.ids(s)
        places = self.places(s, other, "equal", first)[1:-1]
        return sum(self.each(ids, places))

    def pmi(self, s, other, first=True):
        """Shared content words hidden together; a word is content if it is no function word."""
        found = self.tok(s, return_offsets_mapping=True)
        ids, offsets = found["input_ids"], found["offset_mapping"]
        shared = self.places(s, other, "equal", first)[1:-1]
        marks = content_marks(s)
        content = [i for i in shared if any(marks[slice(*offsets[i])])]
        content = content or shared
        return sum(self.each(ids, content, set(content)))

    def sss(self, s, other, first=True):
        ids = self.ids(s)
        places = self.places(s, other, "diff", first)
        if not places:
            return math.nan
        return sum(self.each(ids, places, set(places))) / len(places)

    def sss_kaneko(self, s, other, first=True):
        ids = self.ids(s)
        places = self.places(s, other, "diff", first)
        if not places:
            return math.nan
        found = logp(self.net, self.masked(ids, set(places)))
        values = [found[i, ids[j]].item() for i in places for j in places]
        return sum(values) / len(values)

    def cps_biasbench(self, s, other, first=True):
        ids = self.ids(s)
        places = self.places(s, other, "diff", first)
        return sum(self.each(ids, places)) / len(places) if places else math.nan

    def cat_nadeem(self, context, word):
        """Mean probability of the word's pieces, each after the earlier ones, through text."""
        word = "".join(c for c in word if c not in string.punctuation)
        pieces = self.tok(word, add_special_tokens=False)["input_ids"]
        total = 0.0
        for k, piece in enumerate(pieces):
            fill = self.tok.decode(pieces[:k]) + self.tok.mask_token
            ids = self.ids(context.replace("BLANK", fill))
            total += logp_at(self.net, ids, ids.index(self.tok.mask_token_id))[piece].exp().item()
        return total / len(pieces)
