"""The catalogue of codes: what each violation means, why it hurts, how it is fixed. Errors and docs read it."""

from __future__ import annotations

from batchpact.schemas.record import Record


class Code(Record):
    """One kind of violation. `form` puts a violation into words, from its `expected` and `actual`."""

    code: str
    title: str
    form: str
    means: str
    hurts: str
    fix: str


_CODES = (
    # --- fields at a boundary -------------------------------------------------------------------------------------
    Code(
        code="BP001",
        title="missing",
        form="declared {expected}",
        means="A required field is in none of the three stores.",
        hurts="Without a contract this is a KeyError inside a worker, minutes into a step.",
        fix="Correct the name if a close one is shown, run the stage that writes the field earlier, or give the "
        "field a default if the stage can do without.",
    ),
    Code(
        code="BP002",
        title="withheld",
        form="{actual}; {expected}",
        means="A stage looked for a field that the batch holds and the stage does not declare.",
        hurts="An undeclared read is invisible to the pipeline check, to the docs and to what ships declared fields.",
        fix="Add the field to the stage's Reads, with a default if it is optional; or stop looking for it.",
    ),
    Code(
        code="BP003",
        title="place",
        form="{actual}; declared {expected}",
        means="The field is in another store than the one it is declared for.",
        hurts="A per-row value in meta_info is not split with the batch; a batch-wide value among the rows is.",
        fix="Put the field where it is declared, or declare both placements: Meta[float] | Float32[Tensor, 'batch'].",
    ),
    Code(
        code="BP004",
        title="unasked",
        form="{actual}; {expected}",
        means="A stage returned, or a row holds, a field that is not declared.",
        hurts="An undeclared write replaces or shadows what another stage relies on.",
        fix="Declare it in Writes, leave it out of the result, or set extra='allow' on Writes if only the data knows "
        "the names.",
    ),
    Code(
        code="BP005",
        title="dtype",
        form="{actual}, declared {expected}",
        means="The tensor has another dtype than declared.",
        hurts="A silent cast wraps ids, loses precision in log-probs, or doubles what is shipped.",
        fix="Cast where the tensor is made (x.to(torch.float32)); or declare a family such as Float[Tensor, ...].",
    ),
    Code(
        code="BP006",
        title="type",
        form="{actual}, declared {expected}",
        means="A value has another Python type than declared.",
        hurts="A list where a tensor is meant never reaches the device; an array where a list is meant breaks JSON.",
        fix="Convert the value where it is made; the hint says how.",
    ),
    # --- shapes ---------------------------------------------------------------------------------------------------
    Code(
        code="BP011",
        title="rank",
        form="{actual}, declared {expected}",
        means="The tensor has more or fewer axes than declared.",
        hurts="[B] beside [B, 1] broadcasts to [B, B] and trains, badly.",
        fix="Reshape where the tensor is made. Nothing is squeezed or expanded for you.",
    ),
    Code(
        code="BP012",
        title="shape",
        form="{actual}, declared {expected}",
        means="An axis has another size than declared, or than most fields that share its name.",
        hurts="A shifted response of one token less lines up with the wrong log-probs.",
        fix="Find the stage that wrote the field and the axis that differs; both are in the message.",
    ),
    Code(
        code="BP013",
        title="dims",
        form="{actual}; {expected}",
        means="Fields that share a dim disagree about its size, and no side is in the majority.",
        hurts="One of them is wrong, and which one cannot be told from the data.",
        fix="Compare the fields that are listed with the stages that wrote them.",
    ),
    Code(
        code="BP014",
        title="unbound",
        form="{actual}; {expected}",
        means="A dim cannot be computed, because a name in it has no size.",
        hurts="A shape that is not computed is not checked.",
        fix="Declare a field, an integer meta field or an argument of that name, or bind(schema, dims={...}).",
    ),
    Code(
        code="BP015",
        title="layout",
        form="{actual}, declared {expected}",
        means="The tensor is dense where a jagged one is declared, or the other way round, or ragged on another axis.",
        hurts="A layout that follows the data changes when all rows happen to have one length.",
        fix="Convert where the tensor is made, or declare Jagged('dim').",
    ),
    Code(
        code="BP016",
        title="rows",
        form="{actual}; {expected}",
        means="Two sides do not have the same rows.",
        hurts="Rows that do not belong together are joined in silence, or a broadcast hides that they differ.",
        fix="Repeat, select or reorder the smaller side first; the message names the factor where there is one.",
    ),
    # --- values ---------------------------------------------------------------------------------------------------
    Code(
        code="BP021",
        title="values",
        form="{actual}; declared {expected}",
        means="Values break a rule of the field: finite, binary, or a bound.",
        hurts="One NaN in the rewards is a NaN in every weight after the next step.",
        fix="Look at the rows that are listed.",
    ),
    Code(
        code="BP022",
        title="rule",
        form="{actual}; declared: {expected}",
        means="A rule over several fields does not hold in some rows, or could not be asked.",
        hurts="Fields that contradict each other train on numbers that nobody meant.",
        fix="Look at the rows that are listed, and at the stages that wrote the fields of the rule.",
    ),
    Code(
        code="BP023",
        title="keys",
        form="{actual}; {expected}",
        means="Several rows have the same key, or two sides do not have the same keys in the same order.",
        hurts="Rows that are told apart by this field would be joined to each other's values.",
        fix="Put the rows into one order first (union(other, realign=True) does it), take copies out, or declare "
        "Group() where rows may be copies.",
    ),
    # --- what a stage did -----------------------------------------------------------------------------------------
    Code(
        code="BP031",
        title="changed",
        form="{actual}; {expected}",
        means="A stage changed a field that it only reads.",
        hurts="The next stage reads other values than the ones that were checked.",
        fix="Work on a clone, or declare the field in Writes too: it is then a rewrite.",
    ),
    Code(
        code="BP032",
        title="graph",
        form="{actual}; {expected}",
        means="A result carries an autograd graph.",
        hurts="The graph keeps every activation alive; memory grows with each step.",
        fix="Run under torch.no_grad() or detach the result; a stage that returns losses declares graph = 'allow'.",
    ),
    Code(
        code="BP033",
        title="padded",
        form="{actual}; {expected}",
        means="The batch holds rows that are marked as padding and the stage is not pad_safe.",
        hurts="Pad rows enter group means and losses.",
        fix="Remove the padding first, or declare pad_safe = True if the stage masks such rows.",
    ),
    Code(
        code="BP034",
        title="origin",
        form="{actual}; {expected}",
        means="The rows of a result do not come from the input's rows in the way the stage declares.",
        hurts="Fields that the stage did not see would be joined to the wrong rows.",
        fix="Declare what the stage does (rows = 'permute', 'select', Repeat(n) or 'new'), and return a batch made by "
        "indexing the given one, or say where rows come from with from_rows(result, origin).",
    ),
    Code(
        code="BP035",
        title="result",
        form="{actual}; {expected}",
        means="A stage returned something that is no batch.",
        hurts="What was computed would be lost.",
        fix="Return a Writes, a batch, None where this rank has no output, or a tuple that starts with one of these.",
    ),
    Code(
        code="BP036",
        title="call",
        form="{actual}; {expected}",
        means="A stage was called without a batch, or with arguments that contradict each other.",
        hurts="The call cannot be checked, or two values compete for one argument.",
        fix="Pass the batch as the first argument, and each argument once.",
    ),
    # --- the container --------------------------------------------------------------------------------------------
    Code(
        code="BP041",
        title="conflict",
        form="{actual}; {expected}",
        means="Both sides hold the field, with different values, and nothing says which one counts.",
        hurts="Whichever is kept, somebody reads the other.",
        fix="Drop or rename one side, or say on_conflict='left' or 'right'.",
    ),
    Code(
        code="BP042",
        title="parts",
        form="{actual}; {expected}",
        means="The parts of a concat, or the rows of a batch, do not have the same fields, dtypes or trailing shapes.",
        hurts="Rows of one part would lose a field, or the concat fails without saying which rank it was.",
        fix="Look at the part that is named and at the stage that wrote it.",
    ),
    Code(
        code="BP043",
        title="split",
        form="{actual}; {expected}",
        means="The batch cannot be cut as asked.",
        hurts="Unequal parts starve one rank or leave rows out.",
        fix="Choose another number, chunk(n, uneven=True), or pad first.",
    ),
    Code(
        code="BP044",
        title="index",
        form="{actual}; {expected}",
        means="An index does not fit the batch.",
        hurts="Rows would be lost or taken twice.",
        fix="Index with an int, a slice, a list, or a one-dimensional array of rows or booleans within the length.",
    ),
    Code(
        code="BP045",
        title="store",
        form="{actual}; {expected}",
        means="A value does not belong into the store it is given for, or a name stands in two stores.",
        hurts="A name in two stores is split by one rule and copied by another.",
        fix="Give each name one place, with the kind of value that the place takes.",
    ),
    Code(
        code="BP046",
        title="name",
        form="{actual}; {expected}",
        means="A name that an operation asks for is not in that store.",
        hurts="Returning less than was asked for hides a misspelt name until somebody needs the field.",
        fix="Correct the name; the closest one is in the message.",
    ),
    Code(
        code="BP047",
        title="encoding",
        form="{actual}; {expected}",
        means="What is to be read as tensors does not have the form in which they are written.",
        hurts="Bytes that are read in another way than they were written give other numbers, and no error.",
        fix="Hand over what serialize_tensordict or pickle made, unchanged and whole; the message names the part that "
        "is not. A batch is unpickled by the version of batchpact that pickled it.",
    ),
    Code(
        code="BP048",
        title="file",
        form="{actual}; {expected}",
        means="A file, or a part of it, is not what save_to_disk wrote: it is of another kind, damaged, or cut off.",
        hurts="Bytes that changed on their way are other numbers, and nothing else would say so.",
        fix="Copy the file again, or save the batch again; the message names the part. What can still be read is read "
        "by load_from_disk(path, fields=..., rows=...).",
    ),
    Code(
        code="BP049",
        title="unsaved",
        form="{actual}; {expected}",
        means="A value is not data, so a file cannot hold it.",
        hurts="Pickled, it would run code in whoever reads the file.",
        fix="Make data of it (dict(x), list(x), str(x)), pop it before saving, or save with allow_pickle=True.",
    ),
    Code(
        code="BP050",
        title="unsent",
        form="{actual}; {expected}",
        means="A value cannot be pickled, so it cannot go to another process.",
        hurts="Pickle says neither which field it is nor which row.",
        fix="Pop it before sending; send what it is made of, and make it where it is needed.",
    ),
    # --- declarations ---------------------------------------------------------------------------------------------
    Code(
        code="BP051",
        title="declared",
        form="{actual}; {expected}",
        means="A schema or a stage is declared wrongly.",
        hurts="A declaration that means something else than it says protects nothing.",
        fix="The message says what was read and what to write.",
    ),
    Code(
        code="BP052",
        title="setting",
        form="{actual}; {expected}",
        means="A setting (level, action, severity, projection) has a value that is not known, or a target of the "
        "command line leads nowhere.",
        hurts="A misspelt level would check nothing.",
        fix="Use one of the values in the message.",
    ),
    Code(
        code="BP053",
        title="config",
        form="{actual}; {expected}",
        means="A value in the batch contradicts the configuration that the field is filled from.",
        hurts="Half of the run uses one value and half the other.",
        fix="Change the configuration or the batch, so that the two agree.",
    ),
    # --- TransferQueue --------------------------------------------------------------------------------------------
    Code(
        code="BP054",
        title="absent",
        form="{actual}; {expected}",
        means="TransferQueue does not hold all rows that a stage was called with, or a field for some of them only.",
        hurts="The rows that are there would be taken for all rows.",
        fix="Put the rows or the field before, or call the stage with the keys that have it; look for a clear that "
        "comes too early.",
    ),
    Code(
        code="BP055",
        title="altered",
        form="{actual}; {expected}",
        means="A cell of a column, or a tag, would come back from TransferQueue as something else.",
        hurts="The next stage reads a list where a tuple was written, or a dict where a dataclass was.",
        fix="Write what comes back as it is: lists, dicts, text, Python's own numbers, arrays.",
    ),
    # --- open columns ---------------------------------------------------------------------------------------------
    Code(
        code="BP056",
        title="columns",
        form="{actual}; {expected}",
        means="The names of open columns are not there, are no list of names, or one of them is a field of its own.",
        hurts="Nobody can tell which columns a stage reads or writes, so none of them would be checked or shipped.",
        fix="Write the names before the stage, or set them in the configuration; where there may be none, give "
        "named_by(...) a source with default=[].",
    ),
    # --- samples --------------------------------------------------------------------------------------------------
    Code(
        code="BP057",
        title="sample",
        form="{actual}; {expected}",
        means="No sample of a schema can be made: what it declares, or what was asked for, cannot hold together.",
        hurts="No batch at all keeps to such a schema; or a test would run on other values than it was given.",
        fix="Change what the message names: a rule, a dim or an override. A rule over several fields that no draw "
        "keeps to says how with make=.",
    ),
    Code(
        code="BP058",
        title="conduct",
        form="{actual}; expected {expected}",
        means="A stage does something on a sampled batch that its contract does not say.",
        hurts="It works on the batches that somebody tried, and not on the next one that keeps to the same contract.",
        fix="Draw the batch that the message names, and run the stage on it.",
    ),
    # --- pipelines ------------------------------------------------------------------------------------------------
    Code(
        code="BP061",
        title="unread",
        form="{actual}; {expected}",
        means="A stage of a pipeline writes a field that no later stage reads.",
        hurts="It costs time and memory, or a later stage reads another name than the one that was meant.",
        fix="Leave the field out, or name it among the outputs of the pipeline.",
    ),
    Code(
        code="BP062",
        title="replaced",
        form="{actual}; {expected}",
        means="A stage replaces a value that nobody has read, and does not read it itself.",
        hurts="What the first stage computed is lost without a word.",
        fix="Read the value before it is replaced, or take one of the two stages out.",
    ),
    Code(
        code="BP063",
        title="twins",
        form="{actual}; {expected}",
        means="Two fields are declared to hold the same values, and a stage rewrites one of them only.",
        hurts="From there on half of the stages work with other values than the rest, silently.",
        fix="Rewrite both in one stage, or drop the twin.",
    ),
    Code(
        code="BP064",
        title="order",
        form="{actual}; {expected}",
        means="A stage was called after one that comes later in the pipeline.",
        hurts="The check of the pipeline says something about another order than the one that ran.",
        fix="Call it where the pipeline has it, or declare the pipeline as it runs.",
    ),
    Code(
        code="BP065",
        title="skipped",
        form="{actual}; {expected}",
        means="A stage of the pipeline was not called, though no condition switches it off.",
        hurts="What it writes is missing, or is what an earlier round has left.",
        fix="Call it, or declare with when(...) where it does not run.",
    ),
    Code(
        code="BP066",
        title="stray",
        form="{actual}; {expected}",
        means="A stage was called that the pipeline does not have, or has switched off.",
        hurts="It may change what the pipeline was checked for.",
        fix="Put it into the pipeline, under the condition that switches it on.",
    ),
    # --- the code of a stage --------------------------------------------------------------------------------------
    Code(
        code="BP071",
        title="reads",
        form="{actual}; {expected}",
        means="The code of a stage looks for a field that its Reads do not declare.",
        hurts="The field is withheld when the stage runs, and nobody who reads the contract knows of it.",
        fix="Declare the field in Reads, with a default if it is optional; correct its name; or stop looking for it.",
    ),
    Code(
        code="BP072",
        title="writes",
        form="{actual}; {expected}",
        means="The code of a stage returns a field that its Writes do not declare.",
        hurts="The call fails when the stage is done, after everything was computed.",
        fix="Declare the field in Writes, correct its name, or leave it out of the result.",
    ),
    Code(
        code="BP073",
        title="astray",
        form="{actual}; {expected}",
        means="The code of a stage looks for a field, or sets it, in another store than the one it is declared for.",
        hurts="It is a KeyError inside a worker, or a value that is not split with its rows.",
        fix="Use the store that the message names, or declare the field for the store that the code uses.",
    ),
    Code(
        code="BP074",
        title="unused",
        form="{actual}; {expected}",
        means="The Reads of a stage declare a field that its code does not use.",
        hurts="It is shipped to every worker, and some other stage has to write it first, for nothing.",
        fix="Take the field out of Reads, or use it.",
    ),
    Code(
        code="BP075",
        title="unset",
        form="{actual}; {expected}",
        means="The Writes of a stage declare a field that no result of its code holds.",
        hurts="The call fails when the stage is done; or a later stage waits for a field that never comes.",
        fix="Set the field in what is returned, or take it out of Writes.",
    ),
    Code(
        code="BP076",
        title="opaque",
        form="{actual}; {expected}",
        means="Which fields the code of a stage uses cannot be told by reading it. Reported on request only.",
        hurts="What cannot be read is not checked until the stage runs.",
        fix="Spell the names out, or give the helper its fields instead of the batch.",
    ),
    Code(
        code="BP077",
        title="idle",
        form="{actual}; {expected}",
        means="A comment tells the linter to ignore something that is not there.",
        hurts="It would silence the next problem in this line, unseen.",
        fix="Delete the comment, or the code in it that silences nothing.",
    ),
    # --- the reference --------------------------------------------------------------------------------------------
    Code(
        code="BP081",
        title="stale",
        form="{actual}; {expected}",
        means="A page of the generated reference is not what the contracts declare.",
        hurts="Somebody looks up a shape or a condition there that is no longer so.",
        fix="Run `batchpact docs`, and commit what it writes.",
    ),
)

CODES: dict[str, Code] = {code.code: code for code in _CODES}
"""Every code, in the order of the docs."""
