"""Findings for people and for machines: text, JSON, GitHub annotations, SARIF and Markdown, all from one record.

`findings.py` makes the record of what a check, the linter or a diff found; each format is one module that prints it.
`output.py` chooses one. `names.py` is apart, as the command line needs it for `--help`.
"""
