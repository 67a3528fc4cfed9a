"""The lock file: what every contract of a project says, as data, and what a change of it breaks.

`collect.py` finds the contracts, `file.py` writes and reads the lock file (`normal.py` says in which form), `diff.py`
holds two of them against each other, and `text.py` prints what changed. What a change means is data: the rules of
`presence_rules.py`, `form_rules.py`, `value_rules.py` and `whole_rules.py`. `fields.py`, `schemas.py`, `stages.py` and
`pipelines.py` find the changes; whether a declaration admits less or more than before is decided in `types.py`,
`values.py`, `dims.py` and `conditions.py`. `commands.py` is what the command line runs.
"""
