"""All pages of the reference, by their paths."""

from __future__ import annotations

from batchpact.contracts.reference.keys import keys
from batchpact.contracts.reference.markdown.conditions import conditions_page
from batchpact.contracts.reference.markdown.errors import errors_page, rules_page
from batchpact.contracts.reference.markdown.fields import fields_page
from batchpact.contracts.reference.markdown.findings import Found
from batchpact.contracts.reference.markdown.index import index_page
from batchpact.contracts.reference.markdown.links import Links, pipeline_file
from batchpact.contracts.reference.markdown.pipelines import pipeline_page
from batchpact.contracts.reference.markdown.policies import policies_page
from batchpact.contracts.reference.markdown.stages import stages_page
from batchpact.contracts.reference.project import Project


def pages(project: Project) -> dict[str, str]:
    """The Markdown of a project's reference, by the path of each page; graphs are files beside it."""
    asked = keys(project)
    links, below = Links(project, asked), Links(project, asked, "../")
    found = Found(project)
    made = {
        "index.md": index_page(links),
        "fields.md": fields_page(links, found),
        "stages.md": stages_page(links, found),
        "policies.md": policies_page(links),
        "conditions.md": conditions_page(links),
        "errors.md": errors_page(links, found),
        "diff-rules.md": rules_page(),
    }
    for name, view in project.views.items():
        made[pipeline_file(name)] = pipeline_page(below, view)
    return made
