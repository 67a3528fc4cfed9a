// Small pieces of a page: links, chips, marks of what is on and off, and sentences.

const KINDS = {
    tensor: ["▦", "tensor"],
    non_tensor: ["≡", "non-tensor"],
    meta: ["◇", "meta"],
    tag: ["#", "tag"],
    arg: ["ƒ", "argument"],
};

/** A field's placements, as small chips. */
const chips = (field) =>
    (data.fields[field]?.kinds ?? []).map((kind) =>
        el("span", { class: "chip" }, el("span", { "aria-hidden": "true" }, KINDS[kind][0], " "), KINDS[kind][1]),
    );

const SWITCHED = {
    true: ["on", "●", "runs"],
    false: ["off", "○", "off"],
    null: ["open", "◐", "depends on the configuration"],
};

/** A mark of what a configuration makes of something, with its class. */
function mark(answer) {
    const [name, sign, text] = SWITCHED[answer];
    return el(
        "span",
        { class: `mark ${name}`, title: text },
        el("span", { "aria-hidden": "true" }, sign),
        el("span", { class: "unseen" }, ` ${text}`),
    );
}

/** The mark alone, where the words stand beside it. */
const bareMark = (answer) =>
    el("span", { class: `mark ${SWITCHED[answer][0]}`, "aria-hidden": "true" }, SWITCHED[answer][1]);

/** "off" where something is off, to grey it out. */
const greyed = (answer) => (answer === false ? "off" : "");

/** A name that may be broken where a person would break it. */
const breakable = (name) => name.split(/(?<=[_/.])/).flatMap((part, at) => (at ? [el("wbr"), part] : [part]));

const stageLink = (name) => el("a", { href: link({ stage: name }) }, breakable(name));
const fieldLink = (name, text = name) => el("a", { href: link({ field: name }), class: "name" }, breakable(text));
const codeLink = (code) => el("a", { href: link({ code }), class: "code" }, code);

/** A sentence: texts, and links to stages and fields. A condition is a link to what it switches. */
function sentence(parts) {
    return parts.map((part) => {
        if (typeof part === "string")
            return part.startsWith("where ") ? ["where ", conditionLink(part.slice(6))] : part;
        const [kind, name, text] = part;
        if (kind === "field") return fieldLink(name, text);
        return el("a", { href: link({ stage: name }), class: greyed(switches.stages(name)) }, breakable(text));
    });
}

function conditionLink(text) {
    const number = switches?.pipeline.conditionNumbers.get(text);
    if (number === undefined) return el("code", {}, text);
    const title = switches.pipeline.conditions[number].names.map(([name, meant]) => `${name}: ${meant}`).join("\n");
    return el("a", { href: link({ condition: text }), class: "condition", title: title || null }, text);
}

/** A heading with a name, and what is small beside it. */
const heading = (kind, name, ...beside) =>
    el(
        "div",
        { class: "heading" },
        el("p", { class: "kind" }, kind),
        el("h1", { tabindex: "-1" }, breakable(name)),
        el("div", { class: "beside" }, beside),
    );

const paragraphs = (texts) => texts.map((text) => el("p", { class: "about" }, text));

const section = (title, ...children) => el("section", {}, el("h2", {}, title), children);

const empty = (text) => el("p", { class: "empty" }, text);

/** A table whose first cells are headings of their rows. Rows are [class, cells]. */
function table(columns, rows) {
    const head = el(
        "thead",
        {},
        el(
            "tr",
            {},
            columns.map((name) => el("th", { scope: "col" }, name)),
        ),
    );
    const body = rows.map(([name, [first, ...rest]]) =>
        el(
            "tr",
            { class: name },
            el("th", { scope: "row" }, first),
            rest.map((cell, at) => el("td", { "data-of": columns[at + 1] }, cell)),
        ),
    );
    return el("div", { class: "wide" }, el("table", {}, head, el("tbody", {}, body)));
}
