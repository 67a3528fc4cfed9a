"""The vocabulary of RL post-training: fields, rules and stages of PPO and GRPO, named as verl 0.9.1 names them.

`fields` has every field once, with placement, dtype, shape, meaning and source; `rules.py` what must be true of several
together; `conditions.py` what a configuration switches. `grpo.py` has the stages of a plain GRPO step, as schemas that
a team's own functions keep to. `dense` and `queue` have the stages of verl's two trainers, and `batchpact.contracts.rl`
the pipelines over them.
"""
