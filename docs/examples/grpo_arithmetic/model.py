"""A small causal transformer over padded batches.

The architecture is the decoder of Vaswani et al. 2017, "Attention Is All You Need", arXiv:1706.03762, with layer
normalisation before each sublayer (Xiong et al. 2020, arXiv:2002.04745) and learned positions.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grpo_arithmetic.tokenizer import EOS_ID, PAD_ID


class KeyValueCache:
    """Keys and values of the tokens seen so far, so that each new token costs one token's work."""

    def __init__(self, layers: int) -> None:
        """Start empty, with room for `layers` blocks."""
        self._entries: list[tuple[Tensor, Tensor] | None] = [None] * layers

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values, each `[batch, heads, new, head_width]`; returns all, old and new."""
        entry = self._entries[layer]
        if entry is not None:
            key, value = torch.cat((entry[0], key), dim=2), torch.cat((entry[1], value), dim=2)
        self._entries[layer] = (key, value)
        return key, value


class Block(nn.Module):
    """Self-attention and a two-layer perceptron, each added to the residual stream."""

    def __init__(self, width: int, heads: int) -> None:
        """Make a block for a residual stream of `width`, which `heads` must divide."""
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, stream: Tensor, visible: Tensor, cache: KeyValueCache | None, layer: int) -> Tensor:
        """Transform the residual stream.

        Args:
            stream: float32 `[batch, query, width]`.
            visible: bool `[batch, 1, query, key]`; True where a query may look at a key.
            cache: holds the keys before the queries and receives those of the queries.
            layer: index of this block in the cache.

        Returns:
            float32 `[batch, query, width]`.
        """
        batch, query_length, width = stream.shape
        projected = self.query_key_value(self.attention_norm(stream))
        query, key, value = projected.view(batch, query_length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            key, value = cache.extend(layer, key, value)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        stream = stream + self.attention_out(attended.transpose(1, 2).reshape(batch, query_length, width))
        output: Tensor = stream + self.perceptron(stream)
        return output


class CausalTransformer(nn.Module):
    """Token ids in, logits of the next token out."""

    def __init__(self, vocab_size: int, max_length: int, width: int, layers: int, heads: int) -> None:
        """Make a transformer with random weights.

        Args:
            vocab_size: number of token ids.
            max_length: the largest position plus one.
            width: size of the residual stream.
            layers: number of blocks.
            heads: attention heads of a block.
        """
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, width)
        self.position_embedding = nn.Embedding(max_length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab_size, bias=False)
        for embedding in (self.token_embedding, self.position_embedding):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, cache: KeyValueCache | None = None
    ) -> Tensor:
        """The logits of the token after each input token.

        Args:
            input_ids: int64 `[batch, query]`.
            attention_mask: int64 `[batch, key]`, 1 where a token is real, 0 at padding; the last `query` keys are the
                input tokens, those before them are in the cache.
            position_ids: int64 `[batch, query]`, counted from the first real token of the row.
            cache: keys and values of earlier tokens, extended in place.

        Returns:
            float32 `[batch, query, vocab_size]`.
        """
        visible = visible_keys(attention_mask, input_ids.shape[1])
        stream = self.token_embedding(input_ids) + self.position_embedding(position_ids)
        for layer, block in enumerate(self.blocks):
            stream = block(stream, visible, cache, layer)
        logits: Tensor = self.head(self.norm(stream))
        return logits


def visible_keys(attention_mask: Tensor, query_length: int) -> Tensor:
    """Which keys each query may look at: real ones at or before its own column, and always itself.

    Itself, because the softmax over no key at all, at a padded column, would be NaN.

    Args:
        attention_mask: int64 `[batch, key]`.
        query_length: the queries are the last `query_length` keys.

    Returns:
        bool `[batch, 1, query_length, key]`.
    """
    key_length = attention_mask.shape[1]
    key_columns = torch.arange(key_length)
    query_columns = key_columns[key_length - query_length :, None]
    real = attention_mask.bool()[:, None, None, :]
    return (real & (key_columns <= query_columns)) | (key_columns == query_columns)


def count_positions(attention_mask: Tensor) -> Tensor:
    """Positions that start at the first real token, and 0 at the padding before it; int64, shaped like the mask."""
    return (attention_mask.cumsum(dim=-1) - 1).clamp(min=0)


@torch.no_grad()
def sample(
    model: CausalTransformer,
    prompts: Tensor,
    response_length: int,
    temperature: float,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Continue each prompt up to its end token.

    Args:
        model: the policy.
        prompts: int64 `[batch, prompt]`, padded on the left.
        response_length: the most tokens of a response, the end token among them.
        temperature: divides the logits; 0 takes the most likely token instead of sampling.
        generator: source of randomness; torch's global one if None.

    Returns:
        Responses, int64 `[batch, response_length]`, padded on the right after the end token.
    """
    batch = prompts.shape[0]
    cache = KeyValueCache(len(model.blocks))
    attention_mask = (prompts != PAD_ID).long()
    position_ids = count_positions(attention_mask)
    responses = torch.full((batch, response_length), PAD_ID, dtype=torch.int64)
    running = torch.ones(batch, dtype=torch.bool)
    input_ids = prompts
    for column in range(response_length):
        logits = model(input_ids, attention_mask, position_ids, cache)[:, -1]
        if temperature == 0:
            tokens = logits.argmax(dim=-1)
        else:
            probabilities = torch.softmax(logits / temperature, dim=-1)
            tokens = torch.multinomial(probabilities, 1, generator=generator).squeeze(1)
        responses[:, column] = torch.where(running, tokens, PAD_ID)
        input_ids, position_ids = responses[:, column : column + 1], position_ids[:, -1:] + running[:, None]
        attention_mask = torch.cat((attention_mask, running[:, None].long()), dim=1)
        running = running & (tokens != EOS_ID)
        if not running.any():
            break
    return responses
