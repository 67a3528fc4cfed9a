"""From a run to contracts: what each function reads from and writes to its batch becomes a draft of stages.

Start at `trace.py`. `watching.py` sees the calls: `scope.py` says of which functions, `frames.py` with what,
`lending.py` has a batch note what is looked at, `plain_values.py` is for functions of tensors, and `comparing.py` finds
what is new afterwards, with `row_origins.py` for rows that moved. `calls.py` is what is kept of a call. Several runs
become one draft: `order.py` has the order of the stages, and what the loop itself writes between them, `stages.py` the
stages, `explaining.py` the condition that tells runs apart, and `writing.py` the source. The types of the fields come
from `inferring/`.
"""
