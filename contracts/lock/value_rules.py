"""The rules for what a field holds: which values are right, and what they mean where batches are made or joined."""

from __future__ import annotations

from batchpact.contracts.lock.change import both, new_data, old_data, rule, safe

VALUE_RULES = (
    # --- values -----------------------------------------------------------------------------------------------
    rule(
        "values-narrowed",
        "values",
        "Fewer values are right.",
        reads=old_data("old writers may have written values that are no longer right"),
        writes=safe("readers accept them already"),
    ),
    rule(
        "values-widened",
        "values",
        "More values are right.",
        reads=safe("the old values are right, too"),
        writes=new_data("old readers refuse some of the new values"),
    ),
    rule(
        "values-replaced",
        "values",
        "Other values are right.",
        reads=old_data("old writers may have written values that are no longer right", first="readers"),
        writes=new_data("old readers refuse some of the new values"),
    ),
    rule(
        "row-rule-added",
        "values",
        "A rule over several fields was added.",
        reads=old_data("what old writers wrote may break it"),
        writes=safe("readers do not ask for less"),
    ),
    rule(
        "row-rule-removed",
        "values",
        "A rule over several fields was removed.",
        reads=safe("nothing is asked instead"),
        writes=new_data("old readers may rely on it"),
    ),
    rule(
        "row-rule-replaced",
        "values",
        "A rule over several fields is another method.",
        reads=old_data("what old writers wrote may break the new one", first="readers"),
        writes=new_data("old readers may rely on the old one"),
    ),
    rule(
        "twin-declared",
        "values",
        "A field has to hold the same values as another.",
        reads=old_data("in what old writers wrote the two may differ"),
        writes=safe("readers do not ask for less"),
    ),
    rule(
        "twin-removed",
        "values",
        "A field no longer has to hold the same values as another.",
        reads=safe("nothing is asked instead"),
        writes=new_data("old readers may take one for the other"),
    ),
    rule(
        "key-narrowed",
        "values",
        "Fewer fields tell rows apart: no two rows may have the same in them.",
        reads=old_data("what old writers wrote may have rows with the same key"),
        writes=safe("readers do not ask for less"),
    ),
    rule(
        "key-widened",
        "values",
        "More fields tell rows apart, or none has to.",
        reads=safe("rows that were told apart still are"),
        writes=new_data("old readers may find rows with the same key"),
    ),
    rule(
        "key-replaced",
        "values",
        "Other fields tell rows apart.",
        reads=old_data("what old writers wrote may have rows with the same key", first="readers"),
        writes=new_data("old readers may find rows with the same key"),
    ),
    # --- meaning ----------------------------------------------------------------------------------------------
    rule(
        "default-changed",
        "meaning",
        "What counts where a field is absent is another value.",
        reads=old_data("a batch or a call without it means something else now, in silence"),
        writes=safe("the value is one that readers accept"),
    ),
    rule(
        "source-added",
        "meaning",
        "An argument is filled from the configuration.",
        reads=safe("a call that passes it does as before"),
    ),
    rule(
        "source-ties-meta",
        "meaning",
        "A meta field is filled from the configuration, and may not contradict it.",
        reads=old_data("old batches may hold another value than the configuration"),
        writes=safe("readers do not ask for less"),
    ),
    rule(
        "source-removed",
        "meaning",
        "A field is no longer filled from the configuration.",
        reads=old_data("old callers and writers leave it to the configuration"),
        writes=safe("the value is one that readers accept"),
    ),
    rule(
        "source-changed",
        "meaning",
        "A field is filled from another key of the configuration.",
        reads=old_data("old configurations do not have the new key, or mean something else by it"),
        writes=safe("the value is one that readers accept"),
    ),
    rule(
        "merge-changed",
        "meaning",
        "The values of several parts become one in another way.",
        reads=both("parts that an old process joins get another value than those that a new one joins"),
        writes=both("parts that an old process joins get another value than those that a new one joins"),
    ),
    rule(
        "pad-added",
        "meaning",
        "It is declared what a field holds where there is nothing.",
        reads=safe("what can be joined now was refused before"),
        writes=safe("what can be joined now was refused before"),
    ),
    rule(
        "pad-changed",
        "meaning",
        "A field holds something else where there is nothing, on another side, or cannot be padded any more.",
        reads=both("rows that an old process pads differ from those that a new one pads"),
        writes=both("rows that an old process pads differ from those that a new one pads"),
    ),
    rule(
        "fill-added",
        "meaning",
        "It is declared what an optional field holds in the rows of parts without it.",
        reads=safe("what can be joined now was refused before"),
        writes=safe("what can be joined now was refused before"),
    ),
    rule(
        "fill-changed",
        "meaning",
        "An optional field holds something else in the rows of parts without it, or cannot be filled any more.",
        reads=both("rows that an old process fills differ from those that a new one fills"),
        writes=both("rows that an old process fills differ from those that a new one fills"),
    ),
    rule(
        "group-changed",
        "text",
        "A field says which rows belong together, or no longer does.",
        reads=safe("groups are for reports"),
        writes=safe("groups are for reports"),
    ),
)
"""Every rule about what a field holds."""
