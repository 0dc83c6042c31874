"""Prototypes whose kernel matrix is treated as block-diagonal (schlegel2017, section 5)."""

from modicum.select.blocks.block_set import BlockSet

__all__ = ["BlockSet"]
