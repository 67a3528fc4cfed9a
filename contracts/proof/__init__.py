"""The proof that a pipeline's declarations fit together, in every configuration.

`space.py` makes sets of configurations, `state.py` says what a batch holds in which of them, `step.py` takes one stage
over one batch, `flow.py` takes all stages over all of them, `loose_ends.py` looks for what nobody needs.
`open_columns.py` makes a field of columns whose names nobody knows yet.
"""
