"""A tokenizer whose tokens are bytes."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

PAD_ID = 256
EOS_ID = 257
VOCAB_SIZE = 258


def encode(text: str) -> list[int]:
    """The UTF-8 bytes of a text as token ids, without an end token."""
    return list(text.encode("utf-8"))


def decode(token_ids: Sequence[int]) -> str:
    """The text up to the first end token; padding is skipped, bytes that are no UTF-8 become U+FFFD."""
    text = bytearray()
    for token_id in token_ids:
        if token_id == EOS_ID:
            break
        if token_id != PAD_ID:
            text.append(token_id)
    return text.decode("utf-8", errors="replace")


def pad(rows: Sequence[Sequence[int]], length: int, side: Literal["left", "right"]) -> Tensor:
    """Stack rows of token ids, padded to one length.

    Args:
        rows: token ids, at most `length` in each row.
        length: tokens in every row of the result.
        side: where the padding goes; prompts are padded on the left, so that all of them end at the same column.

    Returns:
        int64 `[len(rows), length]`.

    Raises:
        ValueError: a row is longer than `length`.
    """
    padded = torch.full((len(rows), length), PAD_ID, dtype=torch.int64)
    for index, row in enumerate(rows):
        if len(row) > length:
            raise ValueError(f"row {index} has {len(row)} tokens, more than the {length} there is room for")
        columns = slice(length - len(row), length) if side == "left" else slice(0, len(row))
        padded[index, columns] = torch.tensor(row, dtype=torch.int64)
    return padded
