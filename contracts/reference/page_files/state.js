// What is shown, which is all in the hash of the address: every state is a link, and back and forward work.

const TITLE = document.title;
const data = JSON.parse(byId("data").textContent);

/** The pipelines by name, each with what is looked up in it. */
const pipelines = new Map(data.pipelines.map((pipeline) => [pipeline.name, indexed(pipeline)]));

function indexed(pipeline) {
    const numbers = new Map(pipeline.stages.map(({ name }) => [name, []])); // a stage may stand at several places
    pipeline.stages.forEach(({ name }, at) => numbers.get(name).push(at));
    const fields = new Map(pipeline.fields.map((field) => [field.name, field]));
    const keys = new Map(pipeline.keys.map((key, at) => [key.text, at]));
    const conditions = new Map(pipeline.conditions.map((condition, at) => [condition.text, at]));
    return { ...pipeline, numbers, fieldsByName: fields, keyNumbers: keys, conditionNumbers: conditions };
}

/** What contracts declare, by the stage, schema or pipeline that declares it. */
const declaredBy = new Map();
for (const [field, { declared }] of Object.entries(data.fields)) {
    for (const declaration of declared) {
        if (!declaredBy.has(declaration.owner)) declaredBy.set(declaration.owner, []);
        declaredBy.get(declaration.owner).push({ field, ...declaration });
    }
}

/** The parts of a page that the hash names; a page is one of them, or none for an overview. */
const PAGES = ["stage", "field", "code", "condition", "key", "owner", "view"];
const CHOICE = "when.";

/** What is shown now: the name of a pipeline (`gone`: of none), a page, and the labels that are chosen for keys. */
let state = { pipeline: null, choice: new Map() };

function parse(hash) {
    const found = { pipeline: null, choice: new Map() };
    for (const [name, value] of new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"))) {
        if (name.startsWith(CHOICE)) found.choice.set(name.slice(CHOICE.length), value);
        else if (name === "pipeline" && !pipelines.has(value)) found.gone = value;
        else if (name === "pipeline" || PAGES.includes(name)) found[name] = value;
    }
    if (found.gone) return { pipeline: null, gone: found.gone, choice: found.choice };
    const alone = "code" in found || "owner" in found || found.view === "codes";
    if (
        !found.pipeline &&
        pipelines.size &&
        (pipelines.size === 1 || (!alone && PAGES.some((page) => page in found)))
    ) {
        found.pipeline = pipelines.keys().next().value;
    }
    return found;
}

/** The hash of a page, in the same pipeline and configuration where it names no other. */
function link(page = {}) {
    const to = { pipeline: state.pipeline, choice: state.choice, ...page };
    const encoded = (text) => encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%3A", ":");
    const parts = to.pipeline ? [`pipeline=${encoded(to.pipeline)}`] : [];
    for (const name of PAGES) if (to[name]) parts.push(`${name}=${encoded(to[name])}`);
    for (const [key, label] of to.choice) parts.push(`${CHOICE}${encoded(key)}=${encoded(label)}`);
    return `#${parts.join("&")}`;
}

/** The page that is shown, without pipeline and configuration. */
const shownPage = () => Object.fromEntries(PAGES.filter((name) => name in state).map((name) => [name, state[name]]));

/** Go to the same page with a label chosen for a key, or, with none, the key left open. */
function choose(key, label) {
    const choice = new Map(state.choice);
    if (label === null) choice.delete(key);
    else choice.set(key, label);
    location.hash = link({ ...shownPage(), choice });
}
