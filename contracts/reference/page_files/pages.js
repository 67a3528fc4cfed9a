// Which page is shown, and what stands above it.

/** Every page: what the state names. */
function shown() {
    const above = switches && [tabs(), banner()];
    if (state.gone !== undefined) return [above, missingPage("pipeline", state.gone)];
    if (state.view === "codes") return [above, codesPage()];
    if (state.code) return [above, codePage(data.codes.find(({ code }) => code === state.code))];
    if (state.owner) return [above, ownerPage(state.owner)];
    if (state.view === "matrix" && switches) return [above, matrixPage()];
    if (state.field && state.field in data.fields) return [above, fieldPage(state.field)];
    if (!switches) return homePage();
    if (state.view === "findings") return [above, findingsPage()];
    if (switches.pipeline.numbers.has(state.stage))
        return [above, switches.pipeline.numbers.get(state.stage).map(stagePage)];
    if (switches.pipeline.conditionNumbers.has(state.condition)) return [above, conditionPage(state.condition)];
    if (switches.pipeline.keyNumbers.has(state.key)) return [above, keyPage(state.key)];
    const asked = PAGES.find((page) => page in state);
    return [
        above,
        asked ? missingPage(asked, state[asked]) : pipelinePage(),
        asked || pipelines.size > 1 ? null : loose(),
    ];
}

function tabs() {
    const number = switches.findings().length;
    const tab = (text, page, here) => el("a", { href: link(page), "aria-current": here ? "page" : null }, text);
    const overview = !PAGES.some((page) => page in state);
    return el(
        "nav",
        { class: "tabs", "aria-label": "Views of the pipeline" },
        tab("Overview", {}, overview),
        tab("Matrix", { view: "matrix" }, state.view === "matrix"),
        tab(
            ["Findings", number ? el("span", { class: "count" }, String(number)) : null],
            { view: "findings" },
            state.view === "findings",
        ),
        tab("Codes", { view: "codes" }, state.view === "codes" || "code" in state),
    );
}

/** What is said where nobody runs the chosen configuration. */
function banner() {
    if (!switches.impossible.length) return null;
    const broken = switches.impossible.map((condition) => el("code", {}, switches.pipeline.conditions[condition].text));
    return el(
        "p",
        { class: "banner", role: "alert" },
        "Nobody runs such a configuration: the pipeline says that ",
        between(broken, " and "),
        " always holds.",
    );
}

const missingPage = (what, name) => [
    heading(`No such ${what}`, name),
    empty("There is none of this name. It may have another name by now: search for it."),
];
