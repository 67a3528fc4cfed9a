"""The reference of a project's contracts, generated from their records and from nothing else.

`project.py` gathers what there is to tell, `view.py` tells it of one pipeline and `details.py` of one declaration.
`told.py` and `words.py` are the form in which it is told: `batchpact show`, the Markdown pages and the page to explore
print the same sentences.
"""
