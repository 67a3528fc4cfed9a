"""Stages on the workers of a team: a class of theirs, several times, in this process or as Ray actors.

Start at `group.py` (`WorkerGroup`) and `stage_call.py` (one call of a stage, from the check on the controller to the
check of what came back). `shipping.py` makes the parts that travel, as `cutting.py` cuts them, and `joining.py` one
batch of what was written. `worker.py` is what runs beside each instance; `local.py` and `actors.py` are the two
places where it can be. `errors.py` says what went wrong, and where.
"""
