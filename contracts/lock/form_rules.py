"""The rules for what a field looks like: its store, its types and its shapes."""

from __future__ import annotations

from batchpact.contracts.lock.change import new_data, old_data, rule, safe

FORM_RULES = (
    # --- placement --------------------------------------------------------------------------------------------
    rule(
        "place-narrowed",
        "place",
        "A field may stand in fewer stores.",
        reads=old_data("old writers may have put it into another store"),
        writes=safe("readers look for it there already"),
    ),
    rule(
        "place-widened",
        "place",
        "A field may stand in more stores.",
        reads=safe("it is found where it was, too"),
        writes=new_data("old readers do not look for it there"),
    ),
    rule(
        "place-replaced",
        "place",
        "A field stands in another store.",
        reads=old_data("old writers put it elsewhere; accept both places for a while", first="readers"),
        writes=new_data("old readers look elsewhere; let them accept both places first"),
    ),
    rule(
        "tag-moved",
        "place",
        "A value of each row became a tag, or is none any more.",
        reads=old_data("only in TransferQueue, old writers put it elsewhere; accept both for a while", first="readers"),
        writes=new_data("only in TransferQueue, old readers look elsewhere; let them accept both first"),
    ),
    # --- types ------------------------------------------------------------------------------------------------
    rule(
        "dtype-narrowed",
        "type",
        "A tensor may have fewer dtypes.",
        reads=old_data("old writers may have written another dtype"),
        writes=safe("readers accept it already"),
    ),
    rule(
        "dtype-widened",
        "type",
        "A tensor may have more dtypes.",
        reads=safe("the old dtypes are accepted, too"),
        writes=new_data("old readers accept fewer dtypes"),
    ),
    rule(
        "dtype-replaced",
        "type",
        "A tensor has another dtype.",
        reads=old_data("old writers wrote another dtype; accept both for a while", first="readers"),
        writes=new_data("old readers refuse the new dtype; let them accept both first"),
    ),
    rule(
        "type-narrowed",
        "type",
        "A value may have fewer types.",
        reads=old_data("old writers may have written another type"),
        writes=safe("readers accept it already"),
    ),
    rule(
        "type-widened",
        "type",
        "A value may have more types.",
        reads=safe("the old types are accepted, too"),
        writes=new_data("old readers accept fewer types"),
    ),
    rule(
        "type-replaced",
        "type",
        "A value has another type.",
        reads=old_data("old writers wrote another type; accept both for a while", first="readers"),
        writes=new_data("old readers refuse the new type; let them accept both first"),
    ),
    # --- shapes -----------------------------------------------------------------------------------------------
    rule(
        "dims-narrowed",
        "shape",
        "A tensor may have fewer shapes.",
        reads=old_data("what old writers wrote may have another shape"),
        writes=safe("readers accept it already"),
    ),
    rule(
        "dims-widened",
        "shape",
        "A tensor may have more shapes.",
        reads=safe("the old shapes are accepted, too"),
        writes=new_data("old readers accept fewer shapes"),
    ),
    rule(
        "dims-replaced",
        "shape",
        "A tensor has another shape.",
        reads=old_data("what old writers wrote has another shape", first="readers"),
        writes=new_data("old readers refuse the new shape"),
    ),
    rule(
        "dims-renamed",
        "text",
        "A dim has another name wherever it stands, or is spelt in another way.",
        reads=safe("names say which axes have one size, and nothing else"),
        writes=safe("names say which axes have one size, and nothing else"),
    ),
    rule(
        "layout-replaced",
        "shape",
        "A tensor is jagged where it was dense, dense where it was jagged, or ragged on another axis.",
        reads=old_data("old writers wrote the other layout", first="readers"),
        writes=new_data("old readers refuse the new layout"),
    ),
)
"""Every rule about what a field looks like."""
