"""GRPO on arithmetic problems, small enough for a laptop's CPU."""
