"""Items to queries: what a measure asks of a model about each sentence of a data set."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import punctuation as string_marks
from typing import Any, Protocol, TypeAlias

from unmask.errors import DataError, NotApplicable, UnmaskError
from unmask.measures.likelihood import LIKELIHOOD, Likelihood
from unmask.measures.plans import BLANK, Plan
from unmask.text.roles import with_pair_roles
from unmask.types import Ask, Codec, Contrast, Dataset, Encoded, Kind, Query, Text, asks_of

_NO_PUNCTUATION = str.maketrans("", "", string_marks)
# Encoded sentences by text function, sort of encoding, and the identity of the item: two data
# sets may have the same name and the same ids.
Cache: TypeAlias = dict[tuple[Callable[[str, str], str], bool, bool, int], dict[str, Encoded]]


class TextCodec(Codec, Protocol):
    """A codec that also turns character spans into roles."""

    def encode_texts(
        self, texts: Sequence[Text], focuses: Sequence[tuple[str, str, str]]
    ) -> list[Encoded]:
        """Ids with a role for each span."""
        ...

    def encode_two(self, first: str, second: str) -> Encoded:
        """Ids of two segments, the places of the second under the role `second`."""
        ...


class SentenceModel(Protocol):
    """What the flow needs of a model; `models.load.Model` is one, tests pass fakes."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def kind(self) -> Kind:
        """What it can answer."""
        ...

    @property
    def family(self) -> str:
        """Its architecture's short name."""
        ...

    @property
    def codec(self) -> TextCodec:
        """Its tokenizer."""
        ...

    @property
    def limit(self) -> int:
        """The longest row it takes, in tokens."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What it is, for the record."""
        ...


@dataclass(frozen=True, slots=True)
class Planned:
    """What one measure asks on one data set, and where each sentence's answers will be.

    `parts[item][label]` are the slices of the value's and the prior's questions, `count` of them
    in all; an item that cannot be asked has a reason instead.
    """

    measure: Likelihood
    data: Dataset
    asks: list[Ask]
    count: int
    parts: dict[str, dict[str, tuple[slice, slice]]]
    reasons: dict[str, str]
    unknown: float = 0.0  # per cent of the tokens

    @property
    def queries(self) -> list[Query]:
        """The questions one by one, in the order of their answers."""
        return [q for ask in self.asks for q in ask.queries]


def check(measure: Likelihood, data: Dataset, kind: Kind) -> None:
    """Refuse a measure on a model or on data that it does not fit."""
    measure.plan_for(kind)
    if data.shape not in measure.shapes:
        fit = [m.name for m in LIKELIHOOD.values() if data.shape in m.shapes and kind in m.plans]
        raise NotApplicable(
            f"{measure.name!r} needs {' or '.join(measure.shapes)}, and {data.name!r} has "
            f"{data.shape}; measures that fit it: {', '.join(fit)}."
        )


def plan(
    model: SentenceModel, measure: Likelihood, data: Dataset, cache: Cache | None = None
) -> Planned:
    """All queries of a measure on a data set; measures that share a `cache` encode it once."""
    check(measure, data, model.kind)
    cache = {} if cache is None else cache
    ask, prior = measure.plan_for(model.kind), measure.prior.get(model.kind)
    asks: list[Ask] = []
    count = 0
    parts: dict[str, dict[str, tuple[slice, slice]]] = {}
    reasons: dict[str, str] = {}
    seen: list[Mapping[str, Encoded]] = []
    sort = (measure.text, measure.stream == "next", measure.fills)
    unseen = [item for item in data.items if (*sort, id(item)) not in cache]
    for item, sentences in zip(unseen, encode(model, measure, unseen), strict=True):
        cache[*sort, id(item)] = sentences
    for item in data.items:
        encoded = cache[*sort, id(item)]
        seen.append(encoded)
        if reason := _obstacle(encoded, measure, model):
            reasons[item.id] = reason
            continue
        asked, new, end = {}, [], count
        for label, sentence in encoded.items():
            value = _asked(measure, ask, sentence, model.codec)
            before = _asked(measure, prior, sentence, model.codec) if prior else []
            middle = end + sum(len(a.at) for a in value)
            last = middle + sum(len(a.at) for a in before)
            asked[label] = (slice(end, middle), slice(middle, last))
            new += value + before
            end = last
        if any(s.start == s.stop for s, _ in asked.values()) and measure.empty == "unscored":
            reasons[item.id] = measure.nothing
            continue
        asks += new
        count, parts[item.id] = end, asked
    if len(parts) + len(reasons) != len(data.items):
        raise DataError(f"{data.name!r} has two items with the same id; make the ids unique.")
    share = unknown_share(seen, model.codec)
    return Planned(measure, data, asks, count, parts, reasons, share)


def _asked(measure: Likelihood, plan: Plan, sentence: Encoded, codec: Codec) -> list[Ask]:
    """What a plan asks; whatever a user's plan does wrong is one sentence."""
    try:
        asks = asks_of(plan(sentence, codec))
        for a in asks:
            size = len(a.row)
            inside = size and a.at and 0 <= min(a.at) <= max(a.at) < size and min(a.gold) >= 0
            if not inside or len(a.gold) != len(a.at) or len(a.hidden) not in (1, len(a.at)):
                raise ValueError(f"{a!r:.80} does not ask for places in its row")
    except UnmaskError:
        raise
    except Exception as error:
        raise DataError(
            f"the plan of {measure.name!r} fails ({type(error).__name__}: {error}); mend it."
        ) from error
    return asks


def encode(
    model: SentenceModel, measure: Likelihood, items: Sequence[Contrast]
) -> list[dict[str, Encoded]]:
    """The sentences of each item as the measure wants them, with roles; tokenised together."""
    if measure.stream == "next":
        return [_encode_two(model, measure, item) for item in items]
    texts = [
        (_shown(model, measure, text, item), item) for item in items for text in item.texts.values()
    ]
    focuses = [_focus(text, item) for text, item in texts]
    encoded = iter(model.codec.encode_texts([text for text, _ in texts], focuses))
    return [with_pair_roles({label: next(encoded) for label in item.texts}) for item in items]


def _shown(model: SentenceModel, measure: Likelihood, given: Text, item: Contrast) -> Text:
    """A sentence as the measure writes it; spans that it cut off are lost."""
    text = _filled(given, item) if measure.fills else given
    string = measure.text(text.string, model.family)
    spans = {k: tuple(s for s in v if s[1] <= len(string)) for k, v in text.spans.items()}
    return Text(string, spans)


def _encode_two(model: SentenceModel, measure: Likelihood, item: Contrast) -> dict[str, Encoded]:
    """The sentences of an item as two segments each."""
    out = {}
    for label, given in item.texts.items():
        text = _shown(model, measure, given, item)
        (a, b), (c, d) = text.spans["context"][0], text.spans["continuation"][0]
        out[label] = model.codec.encode_two(text.string[a:b], text.string[c:d])
    return out


def _filled(text: Text, item: Contrast) -> Text:
    """The item's context with the fill word of a sentence at BLANK, its place under `fill`.

    StereoSet's sentences are lower-cased in part; its contexts are as they were written.
    """
    context, spans = item.meta.get("context"), text.spans.get("fill")
    if not context or BLANK not in context or not spans:
        return text
    word = text.string[slice(*spans[0])]
    parts = context.split(BLANK)
    string, places = parts[0], []
    for part in parts[1:]:
        places.append((len(string), len(string) + len(word)))
        string += word + part
    return Text(string, {**text.spans, "fill": tuple(places), "word": tuple(places)})


def _focus(text: Text, item: Contrast) -> tuple[str, str, str]:
    """The text before, of and after the word that the item is about.

    For a context with BLANK the word is what published code takes for the fill: all its
    punctuation is removed.
    """
    for role in ("word", "target"):
        if spans := text.spans.get(role):
            start, end = spans[0]
            word = text.string[start:end]
            if context := item.meta.get("context"):
                before, _, after = context.partition(BLANK)
                return before, word.translate(_NO_PUNCTUATION), after
            return text.string[:start], word, text.string[end:]
    return "", "", ""


def _obstacle(encoded: Mapping[str, Encoded], measure: Likelihood, model: SentenceModel) -> str:
    """Why an item cannot be asked, or nothing."""
    if max(len(e.ids) for e in encoded.values()) > model.limit:
        return f"longer than the model's {model.limit} tokens"
    if measure.stream != "next" and (reason := _strange(encoded, model.codec)):
        return reason
    for role in measure.needs:
        if not all(e.roles.get(role) for e in encoded.values()):
            return f"the place of its {role} is not marked"
        if not all(_neighbours(e.roles[role]) for e in encoded.values()):
            return f"its {role} is in more than one place"
    return ""


# The roles that tell the sentences of an item apart, where they have them.
_TELLING = ("changed", "target", "attribute", "continuation")


def _strange(encoded: Mapping[str, Encoded], codec: Codec) -> str:
    """Why the text of an item is not what it seems to the model, or nothing."""
    # Most sentences hold just the specials they end and begin with: those need no closer look.
    if any(
        e.ids[i] in codec.reserved
        for e in encoded.values()
        if sum(t in codec.reserved for t in e.ids) > len(e.specials)
        for i in e.content
    ):
        return "it holds a special token, such as a mask, as text"
    unknown = codec.unknown
    if unknown is None:
        return ""
    rows = {e.ids for e in encoded.values()}
    said = {e.text.string for e in encoded.values() if e.text is not None}
    if len(rows) < len(said) and any(unknown in row for row in rows):
        return "the tokenizer does not know the words in which its sentences differ"
    for role in _TELLING:
        asked = [e.ids[i] for e in encoded.values() for i in e.roles.get(role, ())]
        if asked and all(token == unknown for token in asked):
            return f"the tokenizer knows none of its {role} words"
    if all(e.ids[i] == unknown for e in encoded.values() for i in e.content):
        return "the tokenizer knows none of its words"
    return ""


def unknown_share(encoded: Iterable[Mapping[str, Encoded]], codec: Codec) -> float:
    """Per cent of the content tokens of some items that the tokenizer does not know."""
    sentences = [e for item in encoded for e in item.values()]
    size = sum(len(e.ids) - len(e.specials) for e in sentences)
    if codec.unknown is None or not size:
        return 0.0
    count = sum(codec.unknown == e.ids[i] for e in sentences for i in _among(e, codec.unknown))
    return 100 * count / size


def _among(sentence: Encoded, token: int) -> tuple[int, ...]:
    """The content places, where the token stands among the ids at all."""
    return sentence.content if token in sentence.ids else ()


def _neighbours(places: tuple[int, ...]) -> bool:
    return places == tuple(range(places[0], places[-1] + 1))
