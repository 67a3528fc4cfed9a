"""From batches to a schema: what several batches hold, written down as the source of a `BatchSchema`.

Start at `infer.py`. `seen.py` is one field in all the batches that hold it, `vocabulary.py` the words of `schemas.rl`
that may say the same, `sizes.py` which name stands for which size, `dims.py` the names that the axes are given,
`cell_types.py` the Python types of cells and meta. `drafting.py` puts these together, field by field, and `source.py`
writes them. Nothing that is written here is run here.
"""
