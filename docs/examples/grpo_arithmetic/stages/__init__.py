"""The stages of one GRPO step, one module each."""
