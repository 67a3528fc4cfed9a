// The search: over names first, then over descriptions, as somebody types.

const SHOWN = 25;

/** Everything that can be found: what it is, its name, what is said of it, and where it is. */
function entries() {
    const found = [];
    const add = (kind, name, about, to) =>
        found.push({ kind, name, about, to, lower: name.toLowerCase(), said: about.toLowerCase() });
    for (const { name, stages } of pipelines.values()) {
        add("pipeline", name, "", { pipeline: name });
        for (const stage of stages)
            add("stage", stage.name, stage.about.join(" "), { pipeline: name, stage: stage.name });
    }
    for (const [name, { declared }] of Object.entries(data.fields)) {
        const about = [...new Set(declared.map((one) => one.about))].filter(Boolean).join(" ");
        add("field", name, about, { field: name });
    }
    for (const { name, about } of data.loose.stages) add("stage", name, about.join(" "), { owner: name });
    for (const { name, about } of data.loose.schemas) add("schema", name, about.join(" "), { owner: name });
    const known = new Set();
    for (const { name, keys, conditions } of [switches?.pipeline, ...pipelines.values()].filter(Boolean)) {
        const asked = [...keys.map(({ text }) => ["key", text]), ...conditions.map(({ text }) => ["condition", text])];
        for (const [kind, text] of asked) {
            if (known.has(`${kind} ${text}`)) continue;
            known.add(`${kind} ${text}`);
            add(kind, text, "", { pipeline: name, [kind]: text });
        }
    }
    for (const { code, title, means, hurts } of data.codes)
        add("code", `${code} ${title}`, `${means} ${hurts}`, { code });
    return found;
}

/** How well an entry fits the words; 0 where it does not. */
function fit({ lower, said, to }, words) {
    const phrase = words.join(" ");
    let points = lower.includes(phrase) ? 5 : said.includes(phrase) ? 2 : 0;
    for (const word of words) {
        const at = lower.indexOf(word);
        if (at < 0 && !said.includes(word)) return 0;
        points += at < 0 ? 1 : lower === word ? 40 : at === 0 ? 20 : /[^a-z0-9]/.test(lower[at - 1]) ? 15 : 10;
    }
    const here = !to.pipeline || to.pipeline === state.pipeline;
    return points + (here ? 0.5 : 0) - lower.length / 1000;
}

function find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const found = Search.entries.map((entry) => [fit(entry, words), entry]).filter(([points]) => points > 0);
    return found.sort(([one], [other]) => other - one).map(([, entry]) => entry);
}

/** Where an entry leads from here: a field to the pipeline that is shown, if it is in it. */
function target({ kind, name, to }) {
    if (to.pipeline) return link(to.pipeline === state.pipeline ? to : { choice: new Map(), ...to });
    if (kind !== "field" || switches?.pipeline.fieldsByName.has(name)) return link(to);
    const home = [...pipelines.values()].find((pipeline) => pipeline.fieldsByName.has(name));
    return home ? link({ choice: new Map(), ...to, pipeline: home.name }) : link(to);
}

const Search = {
    entries: null,
    found: [],
    at: -1,

    start() {
        this.input = byId("search");
        this.list = byId("results");
        this.input.addEventListener("focus", () => (this.entries ??= entries()));
        this.input.addEventListener("input", () => this.show(find(this.input.value)));
        this.input.addEventListener("keydown", (event) => this.pressed(event));
        this.input.addEventListener("blur", (event) => this.list.contains(event.relatedTarget) || this.close());
        this.list.addEventListener("mousedown", (event) => event.preventDefault());
        this.list.addEventListener("click", (event) => {
            const option = event.target.closest("[data-at]");
            if (option) this.open(Number(option.dataset.at));
        });
    },

    show(found) {
        this.found = found;
        const options = found.slice(0, SHOWN).map(({ kind, name, about, to }, at) => {
            const where =
                to.pipeline && !["pipeline", "key", "condition"].includes(kind)
                    ? el("span", { class: "where" }, to.pipeline)
                    : null;
            return el(
                "li",
                { id: `result-${at}`, role: "option", "data-at": at, "aria-selected": "false" },
                el("span", { class: "chip" }, kind),
                el("span", { class: "hit" }, name),
                where,
                about ? el("span", { class: "said" }, about) : null,
            );
        });
        if (found.length > SHOWN)
            options.push(
                el(
                    "li",
                    { class: "more", role: "presentation" },
                    `and ${count(found.length - SHOWN, "more").replace(/s$/, "")}`,
                ),
            );
        const asked = this.input.value.trim();
        if (asked && !found.length)
            options.push(
                el("li", { class: "more", role: "presentation" }, "Nothing has this in its name or its description."),
            );
        this.list.replaceChildren(...options);
        this.list.hidden = !asked;
        this.input.setAttribute("aria-expanded", String(!this.list.hidden));
        this.choose(found.length ? 0 : -1);
        if (asked) say(count(found.length, "result"));
    },

    choose(at) {
        this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
        this.at = at;
        const option = at >= 0 ? byId(`result-${at}`) : null;
        option?.setAttribute("aria-selected", "true");
        option?.scrollIntoView({ block: "nearest" });
        if (option) this.input.setAttribute("aria-activedescendant", option.id);
        else this.input.removeAttribute("aria-activedescendant");
    },

    pressed(event) {
        const number = Math.min(this.found.length, SHOWN);
        if (event.key === "ArrowDown" && number) this.choose((this.at + 1) % number);
        else if (event.key === "ArrowUp" && number) this.choose((this.at + number - 1) % number);
        else if (event.key === "Enter" && this.at >= 0) this.open(this.at);
        else if (event.key === "Escape") this.leave();
        else return;
        event.preventDefault();
    },

    open(at) {
        const to = target(this.found[at]);
        this.leave();
        if (to === location.hash) focusHeading();
        else location.hash = to;
    },

    leave() {
        this.input.value = "";
        this.close();
        this.input.blur();
    },

    close() {
        this.list.hidden = true;
        this.found = [];
        this.input.setAttribute("aria-expanded", "false");
        this.input.removeAttribute("aria-activedescendant");
    },
};
