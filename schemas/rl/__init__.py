"""The vocabulary of RL post-training: fields and stages of GRPO, named as verl names them.

`fields.py` has every field once, with placement, dtype, shape, meaning and source; `grpo.py` has the stages of a GRPO
step, as schemas that a team's own functions keep to.
"""
