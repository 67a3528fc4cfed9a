"""GRPO on arithmetic, on a CPU: a small language model learns to add, and every stage boundary is checked.

Start at `pipeline.py` (the stages in their order) and `stages/` (what each one does); `__main__.py` runs it all and
`faults.py` breaks it. `make demo` in the repository's root, or `python -m grpo_arithmetic` from `docs/examples`.
"""
