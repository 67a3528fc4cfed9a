// The cells of the matrix: which stages do what with a field.

const SIGNS = {
    reads: ["○", "reads"],
    writes: ["●", "writes"],
    both: ["◉", "reads and writes"],
    drops: ["✕", "drops"],
    inputs: ["●", "given"],
    outputs: ["○", "wanted at the end"],
};

/** The uses of a field as columns: 0 are the inputs, then the stages, then the outputs. */
function cellsOf(pipeline, name) {
    const cells = new Map();
    for (const use of usesOf(pipeline).get(name)) {
        const column = use.at + 1;
        const on = switches.use(use);
        const known = cells.get(column);
        cells.set(
            column,
            known ? { how: use.how === "drops" ? "drops" : "both", on: any([known.on, on]) } : { how: use.how, on },
        );
    }
    if (pipeline.outputs.includes(name)) cells.set(pipeline.stages.length + 1, { how: "outputs", on: true });
    return cells;
}

const columnName = (pipeline, column) => pipeline.stages[column - 1]?.name ?? (column ? "outputs" : "inputs");

function sign(how, on) {
    return el("span", { class: `sign ${how} ${SWITCHED[on][0]}`, "aria-hidden": "true" }, SIGNS[how][0]);
}

/** A field's row of the matrix, alone. */
function strip(name) {
    const { pipeline } = switches;
    const cells = cellsOf(pipeline, name);
    const marks = Array.from({ length: pipeline.stages.length + 2 }, (_, column) => {
        const cell = cells.get(column);
        const title = `${columnName(pipeline, column)}${cell ? `: ${SIGNS[cell.how][1]}` : ""}`;
        return el("span", { class: "spot", title }, cell ? sign(cell.how, cell.on) : el("span", { class: "none" }));
    });
    return el(
        "div",
        { class: "strip" },
        el("div", { class: "spots", "aria-hidden": "true" }, marks),
        el("a", { href: link({ view: "matrix", field: name }) }, "show in the matrix"),
    );
}
