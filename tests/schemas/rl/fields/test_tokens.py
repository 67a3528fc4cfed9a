"""Tokens and masks."""

from batchpact.schemas.rl.fields import tokens

from ..specs import spec


def test_what_is_padded_on_the_left_says_so() -> None:
    sides = {
        name: pad.side for name in ("Prompts", "Responses", "InputIds") if (pad := spec(getattr(tokens, name)).pad)
    }

    assert sides == {"Prompts": "left", "Responses": "right", "InputIds": {"prompt": "left"}}


def test_the_loss_mask_is_the_twin_of_the_response_mask() -> None:
    assert spec(tokens.LossMask).same_as == "response_mask"


def test_masks_are_binary() -> None:
    for mask in (tokens.AttentionMask, tokens.WholeAttentionMask, tokens.ResponseMask, tokens.LossMask):
        assert [rule.kind for rule in spec(mask).rules] == ["binary"]
