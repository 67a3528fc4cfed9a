"""The rules for what has to be in a batch: fields, keys and conditions, and what is not declared."""

from __future__ import annotations

from batchpact.contracts.lock.change import new_data, old_data, rule, safe

PRESENCE_RULES = (
    # --- presence ---------------------------------------------------------------------------------------------
    rule(
        "field-added",
        "presence",
        "A field that has to be there was added.",
        reads=old_data("what old writers wrote does not hold it"),
        writes=safe("readers that do not ask for it do not see it"),
    ),
    rule(
        "argument-added",
        "presence",
        "An argument that has to be passed was added.",
        reads=old_data("old callers do not pass it"),
    ),
    rule(
        "optional-field-added",
        "presence",
        "A field was added that may be absent, or that the configuration fills.",
        reads=safe("a batch without it is as good as before"),
        writes=safe("readers that do not ask for it do not see it"),
    ),
    rule(
        "field-removed",
        "presence",
        "A field that had to be there was removed.",
        reads=safe("what holds it still is as good as before"),
        writes=new_data("old readers that need it do not find it"),
    ),
    rule(
        "argument-removed",
        "presence",
        "An argument was removed.",
        reads=old_data("old callers pass it, and the stage does not take it"),
    ),
    rule(
        "optional-field-removed",
        "presence",
        "A field that could be absent was removed.",
        reads=safe("what holds it still is as good as before"),
        writes=safe("a reader that keeps to this contract can do without it"),
    ),
    rule(
        "field-became-required",
        "presence",
        "A field that could be absent has to be there.",
        reads=old_data("what old writers wrote may not hold it"),
        writes=safe("readers always find it"),
    ),
    rule(
        "field-became-optional",
        "presence",
        "A field that had to be there may be absent.",
        reads=safe("a batch without it is accepted, too"),
        writes=new_data("old readers need it and may not find it"),
    ),
    rule(
        "key-renamed",
        "presence",
        "A field has another key in the batch.",
        reads=old_data("old writers write the old key; read both for a while", first="readers"),
        writes=new_data("old readers look for the old key; write both for a while", first="writers"),
    ),
    rule(
        "attribute-renamed",
        "text",
        "A field has another name in Python, and the same key in the batch.",
        reads=safe("batches hold the key; only code that says batch.<name> has to follow"),
        writes=safe("batches hold the key; only code that says Writes(<name>=...) has to follow"),
    ),
    # --- conditions -------------------------------------------------------------------------------------------
    rule(
        "condition-narrowed",
        "condition",
        "A field is there in fewer configurations.",
        reads=safe("where it is not asked for, nothing is asked instead"),
        writes=new_data("in some configurations old readers need it and do not find it"),
    ),
    rule(
        "condition-widened",
        "condition",
        "A field is there in more configurations.",
        reads=old_data("in some configurations old writers do not write it"),
        writes=safe("readers that do not ask for it do not see it"),
    ),
    rule(
        "condition-replaced",
        "condition",
        "A field is there in other configurations.",
        reads=old_data("in some configurations old writers do not write it"),
        writes=new_data("in some configurations old readers need it and do not find it"),
    ),
    rule(
        "optional-condition-changed",
        "condition",
        "A field that may be absent is there in other configurations.",
        reads=safe("a batch without it is as good as before"),
        writes=safe("a reader that keeps to this contract can do without it"),
    ),
    # --- open columns -----------------------------------------------------------------------------------------
    rule(
        "names-changed",
        "presence",
        "The names of open columns stand elsewhere.",
        reads=old_data("old writers do not write the names where they are looked for; write both for a while"),
        writes=new_data("old readers look for the names where they were; write both for a while", first="writers"),
    ),
    # --- the schema -------------------------------------------------------------------------------------------
    rule(
        "extra-allowed",
        "presence",
        "Fields that are not declared are let through.",
        reads=safe("the stage sees more"),
        writes=new_data("the stage may write over fields that old readers take from others"),
    ),
    rule(
        "extra-forbidden",
        "presence",
        "Fields that are not declared are no longer let through.",
        reads=safe("a batch that holds them is accepted as before"),
        writes=safe("no reader could rely on them"),
    ),
)
"""Every rule about what is there."""
