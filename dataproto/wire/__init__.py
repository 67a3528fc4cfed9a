"""Batches on the wire: pickle's out-of-band buffers for everything that is bulk, plain parts for the rest.

Start at `sending.py` and `receiving.py`. Between them lie the forms of `packing.py` and `unpacking.py`, and the memory
of `memory.py`; `inner.py` finds tensors and arrays inside cells and meta. `transport.py` is what a user asks for, and
`unpicklable.py` says what cannot be sent.
"""
