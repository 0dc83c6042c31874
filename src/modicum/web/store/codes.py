"""Secrets: codes by which workers enter, and tokens."""

import hashlib
import hmac
import secrets

LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # without those that are mistaken for others
LENGTH = 12  # 60 bits: nobody finds one by trying, even with thousands of workers


def new_code() -> str:
    """A code that is short enough to be typed."""
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def spaced(code: str) -> str:
    """A code as people read it.

    >>> spaced("ABCDEFGHJKLM")
    'ABCD-EFGH-JKLM'
    """
    return "-".join(code[at : at + 4] for at in range(0, len(code), 4))


def as_code(typed: str) -> str:
    """A code as it was typed, without the dashes and in capitals.

    >>> as_code(" abcd-efgh-jklm")
    'ABCDEFGHJKLM'
    """
    return "".join(letter for letter in typed.upper() if letter in LETTERS)[: LENGTH + 1]


def new_token() -> str:
    """A secret of 256 bits."""
    return secrets.token_urlsafe(32)


def signature(secret: str, text: str) -> str:
    """What only somebody who knows the secret can make of a text."""
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Whether two secrets are the same, in a time that tells nothing."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
