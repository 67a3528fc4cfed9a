// What is told of a stage or a field, in the sentences of `batchpact show`.

/** The lines of a stage about its fields: a table of what it reads or writes. */
function fieldsOfStage(at, label, last) {
    const lines = switches.pipeline.stages[at].lines.filter((line) => line.label === label);
    if (!lines.some((line) => line.about)) return empty(lines.map((line) => line.facts.flat()).join("; "));
    const rows = lines.map((line) => {
        const [place, ...facts] = line.facts;
        const more = facts.pop();
        const [, name, text] = line.about;
        return [
            greyed(switches.line(at, line)),
            [
                [fieldLink(name, text), line.on === null ? null : mark(switches.line(at, line))],
                el("code", {}, place),
                between(facts.map(sentence), "; "),
                sentence(more),
            ],
        ];
    });
    return table(["Field", "Declared", "Condition", last], rows);
}

/** The lines of a field: its path along the pipeline. */
function pathOfField(field) {
    const uses = [...usesOf(switches.pipeline).get(field.name)];
    const steps = field.lines.map((line) => {
        const name = line.about?.[1];
        const next = uses.findIndex(({ at, how }) => how === line.label && switches.pipeline.stages[at]?.name === name);
        const [use] = next < 0 ? [] : uses.splice(0, next + 1).slice(-1);
        const on = use ? switches.use(use) : true;
        const who = line.about ? stageLink(line.about[1]) : "the inputs of the pipeline";
        const [place, ...facts] = line.facts;
        return el(
            "li",
            { class: `${line.label} ${greyed(on)}` },
            el("span", { class: "how" }, line.label),
            el(
                "div",
                {},
                el("p", { class: "who" }, who, mark(on)),
                el(
                    "p",
                    { class: "facts" },
                    place ? [el("code", {}, place), facts.map((fact) => ["; ", sentence(fact)])] : [],
                ),
            ),
        );
    });
    return steps.length ? el("ol", { class: "path" }, steps) : empty("It is nowhere in this pipeline.");
}

/** One finding: how certain, what, where, and in which configurations. */
function finding({ code, level, severity, stage, field, text, configurations, others }) {
    const { pipeline } = switches;
    const title = data.codes.find((known) => known.code === code)?.title ?? "";
    const place = pipeline.numbers.has(stage) ? stageLink(stage) : `the ${stage}`;
    const name = pipeline.fieldsByName.has(field) ? fieldLink(field) : el("code", {}, field);
    const certain = level === "certain" ? severity : `possible ${severity}`;
    return el(
        "li",
        { class: `finding ${severity} ${level}` },
        el(
            "p",
            { class: "what" },
            el("span", { class: "level" }, certain),
            codeLink(code),
            ` ${title} `,
            name,
            " in ",
            place,
        ),
        el("p", {}, text),
        configurations[0].length > 0 &&
            el(
                "p",
                { class: "regions" },
                "With ",
                between(configurations.map(configurationLink), " or "),
                others ? " or others" : "",
            ),
    );
}

/** A configuration in which a finding is, as a link that chooses it. */
function configurationLink(fixed) {
    const { keys } = switches.pipeline;
    const choice = new Map(state.choice);
    for (const [key, at] of fixed) choice.set(keys[key].text, keys[key].cases[at].label);
    const text = fixed.map(([key, at]) => keys[key].cases[at].text).join(", ");
    return el(
        "a",
        { href: link({ ...shownPage(), choice }), class: "region", title: "Choose this configuration" },
        text,
    );
}

function findingList(found, title = "What breaks") {
    return found.length ? section(title, el("ul", { class: "findings" }, found.map(finding))) : null;
}

/** What contracts declare, each with its policies; those that say the same are one row. */
function declarations(name) {
    const { declared } = data.fields[name];
    const meanings = new Set(declared.map(({ about }) => about));
    const alike = new Map();
    for (const { owner, ...said } of declared) {
        const key = JSON.stringify(said);
        if (!alike.has(key)) alike.set(key, { ...said, owners: [] });
        alike.get(key).owners.push(owner);
    }
    const rows = [...alike.values()].map(({ owners, side, place, details, about }) => [
        "",
        [
            side,
            between(
                owners.map((owner) => ownerLink(owner, side)),
                ", ",
            ),
            el("code", {}, place),
            el(
                "ul",
                { class: "details" },
                details.map((text) => el("li", {}, text)),
            ),
            meanings.size > 1 ? about : null,
        ],
    ]);
    return table(["As", "Declared by", "Place", "Details", meanings.size > 1 ? "Meaning" : ""], rows);
}

function ownerLink(owner, side) {
    if (side === "inputs") return el("a", { href: link({ pipeline: owner }) }, `pipeline ${owner}`);
    for (const pipeline of new Set([switches?.pipeline, ...pipelines.values()])) {
        const stage = pipeline?.stages.find(({ qualname }) => qualname === owner);
        if (stage)
            return el(
                "a",
                { href: link({ pipeline: pipeline.name, stage: stage.name }), title: owner },
                shortened(owner),
            );
    }
    return el("a", { href: link({ owner }), title: owner }, shortened(owner));
}

/** The last name of a qualified name. */
const shortened = (qualname) =>
    qualname
        .split(".")
        .filter((part) => part !== "<locals>")
        .pop();
