"""`batchpact lint`: does the code of a stage read and write what the stage declares? No stage is run.

`command.py` is the command and `linter.py` a run over the stages that `stages.py` finds. `stage_code.py` reads one of
them: `statements.py`, `assignments.py`, `calls.py` and `expressions.py` walk its syntax tree, each on top of the next.
What they know of a value is in `values.py`; `names.py`, `operators.py`, `methods.py`, `choosing.py`, `sequences.py`,
`making.py`, `functions.py` and `builtin.py` say what an operation does to it, `scope.py`, `members.py` and `program.py`
what a name stands for. `machine.py` keeps which names are set where, and writes down in a `trace.py` what it sees.
`judge.py` holds that against the contract; `comments.py` and `baseline.py` silence findings.
"""
