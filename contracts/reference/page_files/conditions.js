// What switches: the conditions, and the keys of the configuration that they ask.

/** The stages and fields under some conditions. */
function under(numbers) {
    const { pipeline } = switches;
    const stages = pipeline.stages.flatMap((stage, at) =>
        numbers.has(stage.on)
            ? [el("li", { class: greyed(switches.stage(at)) }, mark(switches.stage(at)), stageLink(stage.name))]
            : [],
    );
    const fields = pipeline.stages.flatMap((stage, at) =>
        stage.lines
            .filter(({ about, on }) => about && numbers.has(on))
            .map((line) =>
                el(
                    "li",
                    { class: greyed(switches.line(at, line)) },
                    mark(switches.line(at, line)),
                    fieldLink(line.about[1], line.about[2]),
                    ` ${line.label === "reads" ? "read" : "written"} by `,
                    stageLink(stage.name),
                ),
            ),
    );
    const list = (title, items, none) =>
        section(title, items.length ? el("ul", { class: "plain" }, items) : empty(none));
    return [list("Stages that it switches", stages, "None."), list("Fields that it switches", fields, "None.")];
}

/** The numbers of the keys that a compiled condition asks. */
function keysIn([kind, of]) {
    if (kind === "test") return [of];
    if (kind === "on") return [];
    return kind === "not" ? keysIn(of) : of.flatMap(keysIn);
}

function conditionPage(text) {
    const number = switches.pipeline.conditionNumbers.get(text);
    const on = switches.condition(number);
    const keys = [...new Set(keysIn(switches.pipeline.conditions[number].test))];
    const { names } = switches.pipeline.conditions[number];
    return [
        heading(
            "Condition",
            text,
            el(
                "span",
                { class: `state ${SWITCHED[on][0]}` },
                bareMark(on),
                { true: "holds", false: "does not hold", null: "open" }[on],
            ),
        ),
        names.length
            ? section(
                  "What the names stand for",
                  el(
                      "dl",
                      {},
                      names.map(([name, meant]) => [el("dt", {}, name), el("dd", {}, el("code", {}, meant))]),
                  ),
              )
            : null,
        section(
            "What it asks",
            keys.map((key) => control(switches.pipeline.keys[key], "page")),
        ),
        under(new Set([number])),
    ];
}

function keyPage(text) {
    const { pipeline } = switches;
    const key = pipeline.keyNumbers.get(text);
    const asking = pipeline.conditions
        .map((_, number) => number)
        .filter((number) => keysIn(pipeline.conditions[number].test).includes(key));
    return [
        heading("Key of the configuration", text),
        control(pipeline.keys[key], "page"),
        section(
            "Conditions that ask it",
            el(
                "ul",
                { class: "plain" },
                asking.map((number) =>
                    el("li", {}, mark(switches.condition(number)), conditionLink(pipeline.conditions[number].text)),
                ),
            ),
        ),
        under(new Set(asking)),
    ];
}
