// The configuration: a choice for each key that conditions ask, or none.

const SHORT = 24;

/** The choice of one key: buttons where they are short, a list where they are not. */
function control({ text, cases }, where) {
    const id = `${where}-${switches.pipeline.keyNumbers.get(text)}`;
    const chosen = cases[switches.cases.get(switches.pipeline.keyNumbers.get(text))]?.label ?? null;
    const options = [{ label: null, text: `${text}: left open` }, ...cases];
    const name = el("a", { href: link({ key: text }) }, breakable(text));
    if (cases.map(({ label }) => label).join("").length <= SHORT) {
        const buttons = options.map(({ label, text: told }, at) => {
            const input = el("input", {
                type: "radio",
                name: id,
                id: `${id}-${at}`,
                checked: label === chosen,
                onchange: () => choose(text, label),
            });
            return el(
                "label",
                { title: told, class: label === null ? "any" : "" },
                input,
                el("span", {}, label ?? "any"),
            );
        });
        return el(
            "fieldset",
            { class: `control ${chosen === null ? "" : "chosen"}` },
            el("legend", {}, name),
            el("div", { class: "segments" }, buttons),
        );
    }
    const select = el(
        "select",
        { id, "aria-label": text, onchange: () => choose(text, options[select.selectedIndex].label) },
        options.map(({ label, text: told }) =>
            el("option", { selected: label === chosen, title: told }, label ?? "any"),
        ),
    );
    return el(
        "div",
        { class: `control ${chosen === null ? "" : "chosen"}` },
        el("p", { class: "legend" }, name),
        select,
    );
}

function panel() {
    if (!switches) return [el("h2", {}, "Configuration"), empty("Choose a pipeline first.")];
    const { pipeline } = switches;
    const found = switches.findings();
    const certain = found.filter(({ level }) => level === "certain").length;
    const chosen = switches.cases.size;
    const reset = el(
        "button",
        { type: "button", id: "reset", onclick: () => (location.hash = link({ ...shownPage(), choice: new Map() })) },
        "Leave all open",
    );
    const outcome = switches.impossible.length
        ? "Nobody runs such a configuration."
        : [
              el("a", { href: link({ view: "findings" }) }, certain ? count(certain, "finding") : "Nothing breaks"),
              found.length > certain ? `${certain ? "" : " for certain"}, ${found.length - certain} possible` : "",
              ".",
          ];
    return [
        el("div", { class: "panel-head" }, el("h2", {}, "Configuration"), chosen ? reset : null),
        el(
            "p",
            { class: "hint" },
            pipeline.keys.length
                ? "Choose what you run; what is off turns grey."
                : "No condition of this pipeline asks anything.",
        ),
        pipeline.keys.length
            ? el("p", { class: `outcome ${switches.impossible.length || certain ? "bad" : ""}` }, outcome)
            : null,
        pipeline.keys.map((key) => control(key, "key")),
    ];
}

/** The stages in their order, beside every page of a pipeline. */
function stageList() {
    if (!switches) return [];
    const { pipeline } = switches;
    const uses = state.field && pipeline.fieldsByName.has(state.field) ? usesOf(pipeline).get(state.field) : [];
    const broken = new Map(
        switches
            .findings()
            .map((found) => [found.stage, found])
            .reverse(),
    );
    const items = pipeline.stages.map(({ name }, at) => {
        const on = switches.stage(at);
        const how = [...new Set(uses.filter((use) => use.at === at).map((use) => use.how))];
        const sign = broken.has(name)
            ? el(
                  "span",
                  {
                      class: `alert ${broken.get(name).severity} ${broken.get(name).level}`,
                      role: "img",
                      "aria-label": "something breaks here",
                      title: "something breaks here",
                  },
                  "!",
              )
            : null;
        return el(
            "li",
            { class: `${greyed(on)} ${how.length ? "touched" : ""}` },
            el(
                "a",
                { href: link({ stage: name }), "aria-current": name === state.stage ? "page" : null },
                mark(on),
                el("span", { class: "stage-name" }, breakable(name)),
                how.length ? el("small", {}, how.join(", ")) : null,
                sign,
            ),
        );
    });
    return [el("h2", {}, el("a", { href: link() }, breakable(pipeline.name))), el("ol", {}, items)];
}
