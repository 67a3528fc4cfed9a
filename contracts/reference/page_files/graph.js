// The lineage graph of a pipeline, as it was laid out beforehand: what is off turns grey, and what a page is about
// stands out. It is drawn when somebody comes near it, as it may be large.

/** A whole graph is shown at first where it is still readable. */
const READABLE = 0.55;

/** How large graphs are shown, once somebody has said so. */
let zoom = null;

/** The graphs as they were read, by their pipelines. */
const drawings = new Map();

function drawingOf(pipeline) {
    if (!drawings.has(pipeline))
        drawings.set(pipeline, new DOMParser().parseFromString(pipeline.graph, "image/svg+xml").documentElement);
    return document.importNode(drawings.get(pipeline), true);
}

/** The graph of a pipeline; with a stage (its number) or a field, what these have to do with is emphasised. */
function graph(pipeline, about = {}) {
    const frame = el("div", {
        class: "graph",
        tabindex: "0",
        role: "group",
        "aria-label": "Lineage graph; arrows scroll it",
    });
    const [, wide, high] = pipeline.graph.match(/width="([\d.]+)" height="([\d.]+)"/).map(Number);
    const whole = () => Math.min(1, (frame.clientWidth - 2) / wide);
    const scale = () => zoom ?? (whole() < READABLE ? 1 : whole());
    const show = () => {
        if (!frame.firstChild) frame.append(emphasised(drawingOf(pipeline), pipeline, about));
        frame.firstChild.style.width = `${wide * scale()}px`;
        frame.style.minHeight = "";
        bringIntoSight(frame, frame.querySelector(".node.lit") ?? frame.querySelector(".node"));
    };
    frame.style.minHeight = `min(${high}px, 38rem, 70vh)`;
    near(frame, show);
    const button = (text, label, wanted) => {
        const zoomed = () => show((zoom = wanted()));
        return el("button", { type: "button", "aria-label": label, onclick: zoomed }, text);
    };
    const buttons = [
        button("−", "Smaller", () => scale() / 1.25),
        button("+", "Larger", () => scale() * 1.25),
        button("Whole", "Show the whole graph", whole),
    ];
    return section("Lineage", el("div", { class: "zoom" }, buttons), frame);
}

/** Mark in a drawing what is off, and what a page is about. */
function emphasised(drawing, pipeline, { stage, field }) {
    const some = stage !== undefined || field !== undefined;
    const numbers =
        field === undefined
            ? []
            : usesOf(pipeline)
                  .get(field)
                  .map(({ at }) => at);
    const lit = new Set([...numbers, stage].map(String));
    for (const edge of drawing.querySelectorAll("[data-writer]")) {
        const { writer, reader, fields } = edge.dataset;
        const here = fields.split(" ").includes(field) || [writer, reader].includes(String(stage));
        if (here && field !== undefined) lit.add(writer).add(reader);
        emphasise(
            edge,
            some,
            here,
            [writer, reader].every((at) => runs(at) !== false),
        );
    }
    for (const node of drawing.querySelectorAll("[data-at]")) {
        emphasise(node, some, lit.has(node.dataset.at), runs(node.dataset.at) !== false);
        const name = node.dataset.stage;
        if (name) node.addEventListener("click", () => (location.hash = link({ stage: name })));
    }
    return drawing;
}

function emphasise(element, some, here, on) {
    element.classList.toggle("lit", some && here);
    element.classList.toggle("dim", some && !here);
    element.classList.toggle("off", !on);
}

/** Whether what a number stands for runs; inputs and outputs do. */
const runs = (at) => (switches.pipeline.stages[at] ? switches.stage(at) : true);

/** What is to be done once, when an element is nearly in sight or is printed. */
const waiting = new WeakMap();

const sight = new IntersectionObserver(
    (found) => found.filter((one) => one.isIntersecting).forEach(({ target }) => arrive(target)),
    { rootMargin: "300px" },
);

function near(element, done) {
    waiting.set(element, done);
    sight.observe(element);
}

function arrive(element) {
    sight.unobserve(element);
    waiting.get(element)?.();
    waiting.delete(element);
}

addEventListener("beforeprint", () => document.querySelectorAll(".graph").forEach(arrive));

/** Scroll a frame, and nothing but it, so that something in it is in the middle. */
function bringIntoSight(frame, element) {
    const inside = element.getBoundingClientRect();
    const outside = frame.getBoundingClientRect();
    frame.scrollTop += inside.top - outside.top - (frame.clientHeight - inside.height) / 2;
    frame.scrollLeft += inside.left - outside.left - (frame.clientWidth - inside.width) / 2;
}
