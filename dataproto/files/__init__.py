"""Batches on disk: safetensors for everything that is bulk, a data-only encoding for the rest.

Start at `operations.py` (the methods), `writing.py` and `reading.py`. What a file is made of is in `header.py` (what
the fields are), `archive.py` (the safetensors file itself) and `blocks.py` (checksums). A field is cut into pieces and
put together again in `tensors.py` and `columns.py`; cells and meta become data in `encoding.py` and values in
`decoding.py`, in the forms of `forms.py`. `docs/file-format.md` describes the format for other programs.
"""
