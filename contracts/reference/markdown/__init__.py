"""The reference as Markdown pages, for GitHub and for any site made of such pages.

`pages.py` has them all, each of which is made in a module of its name. `links.py` knows where everything stands, and
`text.py` has the parts of a page.
"""
