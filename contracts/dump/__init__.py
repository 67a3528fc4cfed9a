"""Batches that broke a contract, saved where it happened, to be looked at and run again elsewhere.

Start at `saving.py` (what is saved of a call), `record.py` (what the file says beside the batch) and `loading.py` (the
file read again). `replay.py` holds the record against the saved batch and runs the stage; `command.py` is the command.
`place.py` has the setting. A dump is a file of `save_to_disk` with two more meta values, so it is data only.
"""
