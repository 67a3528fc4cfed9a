"""`batchpact lint`: does the code of a stage read and write what the stage declares? Nothing is run.

`linter.py` goes over the stages that `stages.py` finds. `stage_code.py` reads one of them; `statements.py`, `calls.py`,
`functions.py`, `methods.py` and `expressions.py` read its syntax tree, each on top of the next, and follow values
(`values.py`) through names (`scope.py`) while `machine.py` keeps what is set where. What they see (`trace.py`) is held
against the contract in `judge.py`. `comments.py` and `baseline.py` silence findings.
"""
