"""Prototypes in blocks of similar ones: their kernel matrix as block-diagonal, or in full (schlegel2017, section 5)."""

from modicum.select.blocks.block_set import BlockSet
from modicum.select.blocks.confirmed_set import ConfirmedSet

__all__ = ["BlockSet", "ConfirmedSet"]
