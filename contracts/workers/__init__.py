"""Stages on the workers of a team: a class of theirs, several times, in this process or as Ray actors.

Start at `group.py` (`WorkerGroup`) and `stage_call.py` (one call of a stage, from the check on the controller until it
is sent). `shipping.py` makes the parts that travel, as `cutting.py` cuts them; `passing.py` says which may go from
worker to worker. `futures.py` waits for the answers, and `joining.py` makes one batch of them. `worker.py` is what runs
beside each instance, and `answers.py` what it says; `local.py` and `actors.py` are the two places where it can be.
`errors.py` says what went wrong, and where.
"""
