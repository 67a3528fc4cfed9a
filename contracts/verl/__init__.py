"""Contracts on the worker methods of verl, called by verl's own worker groups.

Start at `dispatch.py` (`contract_dispatch`, and the order of one call). `methods.py` has the contract of a worker's
method. What goes to the workers is made in `batches.py`, `columns.py` (the metas of TransferQueue) and `futures.py`;
what came back is checked in `returned.py`. `stacking.py` is for `@stage` above verl's decorators. verl is imported
where it is used.
"""
