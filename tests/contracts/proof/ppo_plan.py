"""A target of the command line."""

from tests.contracts.proof.ppo import ppo

plan = ppo()
