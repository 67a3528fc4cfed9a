"""The policy: the weights that sample and learn, with what training them needs."""

import torch

from grpo_arithmetic import tokenizer
from grpo_arithmetic.model import CausalTransformer
from grpo_arithmetic.settings import Settings


class Policy:
    """A model, its optimiser and its source of randomness.

    Attributes:
        settings: the numbers of the run.
        model: the transformer, trained in place.
        optimizer: holds the model's parameters.
        generator: draws tokens and shuffles mini-batches.
    """

    def __init__(self, settings: Settings) -> None:
        """Start with random weights, drawn from the seed; torch's global randomness is left alone."""
        self.settings = settings
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.model = CausalTransformer(
                tokenizer.VOCAB_SIZE,
                settings.prompt_length + settings.response_length,
                settings.width,
                settings.layers,
                settings.heads,
            )
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.learning_rate, weight_decay=0.0)
        self.generator = torch.Generator().manual_seed(settings.seed)
