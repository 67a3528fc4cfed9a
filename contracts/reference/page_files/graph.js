// The lineage graph of a pipeline, as it was laid out beforehand: what is off turns grey, and what a page is about
// stands out.

/** A whole graph is shown at first where it is still readable. */
const READABLE = 0.55;

/** How large graphs are shown, once somebody has said so. */
let zoom = null;

/** The graph of a pipeline; with a stage (its number) or a field, what these have to do with is emphasised. */
function graph(pipeline, about = {}) {
  if (!pipeline.graph) return null;
  const drawing = document.importNode(new DOMParser().parseFromString(pipeline.graph, "image/svg+xml").documentElement, true);
  const emphasised = "stage" in about || "field" in about;
  const lit = new Set("stage" in about ? [String(about.stage)] : []);
  for (const edge of drawing.querySelectorAll("[data-writer]")) {
    const { writer, reader, fields } = edge.dataset;
    const here = fields.split(" ").includes(about.field) || [writer, reader].includes(String(about.stage));
    if (here && about.field) lit.add(writer).add(reader);
    edge.classList.toggle("lit", here);
    edge.classList.toggle("dim", emphasised && !here);
    edge.classList.toggle("off", [writer, reader].some((at) => runs(at) === false));
  }
  for (const { at } of about.field ? usesOf(pipeline).get(about.field) : []) lit.add(String(at));
  for (const node of drawing.querySelectorAll("[data-at]")) {
    const { at, stage } = node.dataset;
    node.classList.toggle("lit", emphasised && lit.has(at));
    node.classList.toggle("dim", emphasised && !lit.has(at));
    node.classList.toggle("off", runs(at) === false);
    if (stage) node.addEventListener("click", () => (location.hash = link({ stage })));
  }
  const frame = el("div", { class: "graph", tabindex: "0", role: "group", "aria-label": "Lineage graph; arrows scroll it" }, drawing);
  const wide = Number(drawing.getAttribute("width"));
  const center = () => bringIntoSight(frame, drawing.querySelector(emphasised ? ".node.lit" : ".node"));
  const whole = () => Math.min(1, (frame.clientWidth - 2) / wide);
  const scale = () => zoom ?? (whole() < READABLE ? 1 : whole());
  const show = () => {
    drawing.style.width = `${wide * scale()}px`;
    center();
  };
  queueMicrotask(show);
  const button = (id, text, label, wanted) => {
    const zoomed = () => show((zoom = wanted()));
    return el("button", { type: "button", id, "aria-label": label, onclick: zoomed }, text);
  };
  const buttons = [
    button("smaller", "−", "Smaller", () => scale() / 1.25),
    button("larger", "+", "Larger", () => scale() * 1.25),
    button("whole", "Whole", "Show the whole graph", whole),
  ];
  return section("Lineage", el("div", { class: "zoom" }, buttons), frame);
}

/** Whether what a number stands for runs; inputs and outputs do. */
const runs = (at) => (switches.pipeline.stages[at] ? switches.stage(at) : true);

/** Scroll a frame, and nothing but it, so that something in it is in the middle. */
function bringIntoSight(frame, element) {
  if (!element) return;
  const inside = element.getBoundingClientRect();
  const outside = frame.getBoundingClientRect();
  frame.scrollTop += inside.top - outside.top - (frame.clientHeight - inside.height) / 2;
  frame.scrollLeft += inside.left - outside.left - (frame.clientWidth - inside.width) / 2;
}
