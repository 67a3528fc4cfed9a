"""The reference of a project's contracts, generated from their records and from nothing else.

`project.py` gathers what there is to tell, `view.py` tells it of one pipeline, `details.py` of one declaration,
`keys.py` of what conditions ask about and `codes.py` of one code. `told.py` and `words.py` are the form in which it is
told: `batchpact show`, the Markdown pages (`markdown/`) and the page to explore print the same sentences. `graph.py` is
the lineage of a pipeline, which `cards.py` measures, `layout.py` lays out, and `svg.py` and `mermaid.py` draw.
`command.py` is `batchpact docs`.
"""
