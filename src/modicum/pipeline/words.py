"""Texts as words: case, accents and punctuation do not count, in any script."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

AT_ONCE = 2_000  # texts that are encoded together
LETTERS_AT_ONCE = 2**22  # of such texts, unless one alone is longer
LONGEST = 32  # letters of a word; longer tokens are codes

END = "\0"  # the token after a text
# scripts without spaces between words: Thai, Lao, Myanmar, Khmer, Japanese, Chinese
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_INDIC = "\u0900-\u0963\u0966-\u0dff"  # whose vowel signs are no letters to `\w`
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}_])[\w{_INDIC}])+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")


def tokens_of(texts: Iterable[str | None]) -> list[str]:
    """The words of all texts in order, with END after each; in scripts without spaces, each character is a word."""
    tokens: list[str] = []
    for text in texts:
        tokens += _words_of((text or "").lower())
        tokens.append(END)
    return tokens


def _words_of(text: str) -> list[str]:
    return _ASCII_WORD.findall(text) if text.isascii() else _WORD.findall(folded(text).lower())


def folded(text: str) -> str:
    """Text without accents; letters of full width and the like become plain ones."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def batches(texts: Sequence[str | None]) -> Iterator[list[str | None]]:
    """Lists of texts that are encoded together, of bounded length."""
    batch: list[str | None] = []
    room = LETTERS_AT_ONCE
    for text in texts:
        room -= len(text or "")
        if batch and (len(batch) == AT_ONCE or room < 0):
            yield batch
            batch, room = [], LETTERS_AT_ONCE - len(text or "")
        batch.append(text)
    if batch:
        yield batch


def is_word(token: str) -> bool:
    """Whether a token says what a text is about: no number, no single letter, and no code of endless length."""
    if len(token) == 1:
        return _UNSPACED_CHARACTER.match(token) is not None
    return len(token) <= LONGEST and not token.isdigit()
