"""A tokenizer's chat template: the text before and after a message.

The template is rendered with a placeholder, and must keep the message unchanged. Anything that
would change the result unnoticed or from day to day is refused or fixed: today's date, a second
start token, an open reasoning block. Without a template the message is sent as plain text.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from unmask.errors import NotApplicable

MARK = "\u2402message\u2403"  # a placeholder that no template changes
PINNED_DATE = "26 Jul 2024"  # for templates that write one
DATES = ("%d %b %Y", "%d %B %Y", "%B %d, %Y", "%b %d, %Y", "%Y-%m-%d", "%d/%m/%Y")
THINKS = (("<think>", "</think>"), ("<|thinking|>", "<|/thinking|>"))


@dataclass(frozen=True, slots=True)
class ChatFrame:
    """The text `before` and `after` a user's message, up to the start of the reply.

    `form` is `chat` with a template, else `plain`; `notes` are what a reader must know.
    """

    before: str
    after: str
    form: str
    notes: tuple[str, ...] = ()

    def text(self, message: str) -> str:
        """The whole prompt."""
        return f"{self.before}{message}{self.after}"

    @property
    def record(self) -> Mapping[str, Any]:
        """Return what a result records of it."""
        digest = hashlib.blake2b(self.text(MARK).encode(), digest_size=8).hexdigest()
        return {"form": self.form, "before": self.before, "after": self.after, "hash": digest}


def frame_of(tokenizer: Any, name: str) -> ChatFrame:
    """The frame of a tokenizer's chat template, or that of plain text."""
    template = getattr(tokenizer, "chat_template", None)
    if not template:
        note = f"{name} has no chat template: questions are asked as plain text."
        return ChatFrame("", "", "plain", (note,))
    rendered = _rendered(tokenizer, name, MARK)
    if rendered.count(MARK) != 1:
        raise NotApplicable(
            f"the chat template of {name!r} does not keep a message as it is (it appears "
            f"{rendered.count(MARK)} times); use measures of plain text, such as 'll'."
        )
    before, after = rendered.split(MARK)
    _check(tokenizer, name, before, after)
    dated = "date_string" in str(template) or "strftime_now" in str(template)
    notes = (f"the chat template of {name} writes a date: {PINNED_DATE} is used.",) if dated else ()
    return ChatFrame(before, after, "chat", notes)


def _rendered(tokenizer: Any, name: str, message: str) -> str:
    try:
        return str(
            tokenizer.apply_chat_template(
                [{"role": "user", "content": message}],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
                date_string=PINNED_DATE,
            )
        )
    except Exception as error:  # a template is a program by its author
        first = (str(error).splitlines() or [""])[0][:100]
        raise NotApplicable(
            f"the chat template of {name!r} fails ({type(error).__name__}: {first}); use measures "
            "of plain text, such as 'll'."
        ) from error


def _check(tokenizer: Any, name: str, before: str, after: str) -> None:
    """Refuse a template whose result would depend on the date, or that leaves reasoning open."""
    today = [date.today().strftime(form) for form in DATES]
    if any(day in before + after for day in today):
        raise NotApplicable(
            f"the chat template of {name!r} writes today's date, so that scores would change from "
            "day to day; give it a fixed date in its tokenizer_config.json."
        )
    for opened, closed in THINKS:
        if after.count(opened) > after.count(closed):
            raise NotApplicable(
                f"the chat template of {name!r} opens a thinking block, so that the reply does not "
                "begin with an answer; use its variant without thinking."
            )
    start = getattr(tokenizer, "bos_token", None)
    if start and before.startswith(start + start):
        raise NotApplicable(
            f"the chat template of {name!r} writes the start token twice; correct the template."
        )


def label_ids(
    backend: Any, labels: Sequence[str], unknown: int | None
) -> dict[str, tuple[int, ...]]:
    """Return each label's tokens, bare and after a space, in spellings that all labels have."""
    spellings: list[list[int]] = []
    for space in ("", "\u0120", "\u2581"):  # of byte-level vocabularies, and of SentencePiece
        ids = [backend.token_to_id(space + label) for label in labels]
        if all(i is not None and i != unknown for i in ids) and ids not in spellings:
            spellings.append([int(i) for i in ids])
    return {label: tuple(ids[k] for ids in spellings) for k, label in enumerate(labels)}
