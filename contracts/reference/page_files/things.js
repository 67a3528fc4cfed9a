// A stage, a field, and a contract that is in no pipeline.

function stagePage(at) {
    const { pipeline } = switches;
    const stage = pipeline.stages[at];
    const on = switches.stage(at);
    const facts = stage.lines.filter(({ label, about }) => !about && label !== "reads" && label !== "writes");
    const step = (to, text) =>
        pipeline.stages[to]
            ? el("a", { href: link({ stage: pipeline.stages[to].name }) }, text(pipeline.stages[to].name))
            : el("span");
    return [
        heading(
            `Stage ${at + 1} of ${pipeline.stages.length} in ${pipeline.name}`,
            stage.name,
            el(
                "span",
                { class: `state ${SWITCHED[on][0]}` },
                bareMark(on),
                stage.on === null ? "runs always" : SWITCHED[on][2],
            ),
        ),
        paragraphs(stage.about),
        el(
            "dl",
            {},
            facts.map(({ label, facts: told }) => [
                el("dt", {}, label),
                el("dd", {}, between(told.map(sentence), "; ")),
            ]),
            el("dt", {}, "declared by"),
            el("dd", {}, el("code", {}, stage.qualname)),
        ),
        findingList(switches.findings().filter((one) => one.stage === stage.name)),
        section("Reads", fieldsOfStage(at, "reads", "Comes from")),
        section("Writes", fieldsOfStage(at, "writes", "Goes to")),
        graph(pipeline, { stage: at }),
        el(
            "nav",
            { class: "steps", "aria-label": "Neighbours" },
            step(at - 1, (name) => `← ${name}`),
            step(at + 1, (name) => `${name} →`),
        ),
    ];
}

function fieldPage(name) {
    const { kinds } = data.fields[name];
    const field = switches?.pipeline.fieldsByName.get(name);
    const others = [...pipelines.values()].filter(
        (pipeline) => pipeline !== switches?.pipeline && pipeline.fieldsByName.has(name),
    );
    const elsewhere = others.map((pipeline) =>
        el("a", { href: link({ pipeline: pipeline.name, field: name }) }, pipeline.name),
    );
    const meanings = field?.about ?? [...new Set(data.fields[name].declared.map(({ about }) => about).filter(Boolean))];
    const on = field ? switches.field(name) : true;
    return [
        heading(
            "Field",
            name,
            chips(name),
            field &&
                el(
                    "span",
                    { class: `state ${SWITCHED[on][0]}` },
                    bareMark(on),
                    { true: "in the batch", false: "not in this configuration", null: "depends on the configuration" }[
                        on
                    ],
                ),
        ),
        meanings.length ? paragraphs(meanings) : empty("Nobody has said what it means."),
        field && [
            findingList(switches.findings().filter((one) => one.field === name)),
            section(["Path through ", switches.pipeline.name], strip(name), pathOfField(field)),
            graph(switches.pipeline, { field: name }),
        ],
        !field && switches && empty(`It is nowhere in the pipeline ${switches.pipeline.name}.`),
        elsewhere.length ? el("p", {}, "Other pipelines with this field: ", between(elsewhere, ", "), ".") : null,
        section("Declarations and policies", declarations(name)),
    ];
}

function ownerPage(owner) {
    const stage = data.loose.stages.find(({ name }) => name === owner);
    const schema = data.loose.schemas.find(({ name }) => name === owner);
    if (!stage && !schema) return missingPage("contract", owner);
    const sides = stage
        ? [
              ["Reads", "reads"],
              ["Writes", "writes"],
          ]
        : [["Fields", "schema"]];
    const fields = (side) => (declaredBy.get(owner) ?? []).filter((one) => one.side === side);
    const rows = (side) =>
        fields(side).map(({ field, place, details, about }) => [
            "",
            [[fieldLink(field)], el("code", {}, place), details.join("; "), about],
        ]);
    return [
        heading(stage ? "Stage in no pipeline" : "Schema", shortened(owner)),
        paragraphs((stage ?? schema).about),
        el(
            "dl",
            {},
            stage && [el("dt", {}, "rows"), el("dd", {}, stage.rows)],
            el("dt", {}, "declared by"),
            el("dd", {}, el("code", {}, owner)),
        ),
        sides.map(([title, side]) =>
            section(
                title,
                fields(side).length ? table(["Field", "Declared", "Details", "Meaning"], rows(side)) : empty("nothing"),
            ),
        ),
    ];
}
