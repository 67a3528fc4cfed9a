// The project, a pipeline, and what breaks in it.

function homePage() {
    const cards = [...pipelines.values()].map((pipeline) => {
        const { findings } = pipeline;
        const errors = findings.filter(({ severity }) => severity === "error").length;
        const found = [
            errors && count(errors, "error"),
            findings.length - errors && count(findings.length - errors, "warning"),
        ]
            .filter(Boolean)
            .join(", ");
        return el(
            "li",
            {},
            el("a", { href: link({ pipeline: pipeline.name, choice: new Map() }) }, pipeline.name),
            el(
                "p",
                {},
                [
                    count(pipeline.stages.length, "stage"),
                    count(pipeline.fields.length, "field"),
                    count(pipeline.keys.length, "key"),
                ].join(" · "),
            ),
            el("p", { class: errors ? "has errors" : found ? "has warnings" : "has" }, found || "nothing breaks"),
        );
    });
    return [
        heading("Contracts", TITLE),
        el(
            "p",
            { class: "lead" },
            [
                count(cards.length, "pipeline"),
                count(data.stages, "stage"),
                count(Object.keys(data.fields).length, "field"),
            ].join(", "),
            ". Press ",
            el("kbd", {}, "/"),
            " to search.",
        ),
        cards.length
            ? section("Pipelines", el("ul", { class: "cards" }, cards))
            : empty("There is no pipeline yet: what its stages read of each other cannot be told."),
        loose(),
        section(
            "Error codes",
            el(
                "p",
                {},
                "What each means, why it hurts and how it is fixed: ",
                el("a", { href: link({ view: "codes" }) }, "the catalogue"),
                ".",
            ),
        ),
    ];
}

/** What is in no pipeline. */
function loose() {
    const entry = ({ name, about }) =>
        el(
            "li",
            {},
            el("a", { href: link({ owner: name }), title: name }, shortened(name)),
            el("p", {}, about.join(" ")),
        );
    const list = (title, entries) =>
        entries.length ? section(title, el("ul", { class: "entries" }, entries.map(entry))) : null;
    return [list("Stages in no pipeline", data.loose.stages), list("Schemas of their own", data.loose.schemas)];
}

function pipelinePage() {
    const { pipeline } = switches;
    const { stages, fields, keys, findings } = pipeline;
    const numbers = [
        count(stages.length, "stage"),
        count(fields.length, "field"),
        `${keys.length ? count(keys.length, "key") : "no key"} of the configuration`,
    ];
    const entries = stages.map((stage, at) => {
        const on = switches.stage(at);
        const found = switches.findings().filter((one) => one.stage === stage.name);
        const when =
            stage.on === null
                ? null
                : el("p", { class: "when" }, sentence([`where ${pipeline.conditions[stage.on].text}`]));
        const sign = found.length
            ? el(
                  "a",
                  { href: link({ stage: stage.name }), class: `count ${found[0].severity}` },
                  count(found.length, "finding"),
              )
            : null;
        return el(
            "li",
            { class: greyed(on) },
            el("p", { class: "who" }, mark(on), stageLink(stage.name), sign),
            paragraphs(stage.about),
            when,
        );
    });
    const names = (list) =>
        list.length
            ? between(
                  list.map((name) => el("span", { class: greyed(switches.field(name)) }, fieldLink(name))),
                  ", ",
              )
            : "nothing";
    const always = pipeline.always.map((condition) => el("li", {}, conditionLink(pipeline.conditions[condition].text)));
    return [
        heading("Pipeline", pipeline.name),
        el(
            "p",
            { class: "lead" },
            numbers.join(", "),
            ". ",
            findings.length
                ? el(
                      "a",
                      { href: link({ view: "findings" }) },
                      `${count(findings.length, "finding")} over all configurations`,
                  )
                : "Nothing breaks, in any configuration",
            ".",
        ),
        graph(pipeline),
        section(
            "What goes in and comes out",
            el(
                "dl",
                {},
                el("dt", {}, "inputs"),
                el("dd", {}, names(pipeline.inputs.map(({ field }) => field))),
                el("dt", {}, "outputs"),
                el("dd", {}, names(pipeline.outputs)),
            ),
        ),
        always.length ? section("What always holds", el("ul", {}, always)) : null,
        section(
            "Stages, in their order",
            stages.length ? el("ol", { class: "stages" }, entries) : empty("It has no stage."),
        ),
    ];
}

function findingsPage() {
    const found = switches.findings();
    const chosen = switches.cases.size > 0;
    const where = chosen ? "in the chosen configuration" : "over all configurations";
    const none = switches.impossible.length
        ? "Nobody runs this configuration, so nothing breaks in it."
        : `Nothing breaks ${where}.`;
    const level = (name) => found.filter((one) => one.level === name);
    return [
        heading("Findings", switches.pipeline.name),
        el("p", { class: "lead" }, found.length ? `${count(found.length, "finding")} of check ${where}.` : none),
        findingList(level("certain"), chosen ? "In this configuration" : "In every configuration"),
        findingList(level("possible"), "In some configurations"),
    ];
}
