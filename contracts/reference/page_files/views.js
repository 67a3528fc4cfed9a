// The pages.

/** Every page: what the state names. */
function shown() {
  const above = switches && [tabs(), banner()];
  if (state.view === "codes") return [above, codesPage()];
  if (state.code) return [above, codePage(data.codes.find(({ code }) => code === state.code))];
  if (state.owner) return [above, ownerPage(state.owner)];
  if (state.view === "matrix" && switches) return [above, matrixPage()];
  if (state.field && state.field in data.fields) return [above, fieldPage(state.field)];
  if (!switches) return homePage();
  if (state.view === "findings") return [above, findingsPage()];
  if (switches.pipeline.numbers.has(state.stage)) return [above, switches.pipeline.numbers.get(state.stage).map(stagePage)];
  if (switches.pipeline.conditionNumbers.has(state.condition)) return [above, conditionPage(state.condition)];
  if (switches.pipeline.keyNumbers.has(state.key)) return [above, keyPage(state.key)];
  const asked = PAGES.find((page) => page in state);
  return [above, asked ? missingPage(asked, state[asked]) : pipelinePage(), asked || pipelines.size > 1 ? null : loose()];
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
    tab(["Findings", number ? el("span", { class: "count" }, String(number)) : null], { view: "findings" }, state.view === "findings"),
    tab("Codes", { view: "codes" }, state.view === "codes" || "code" in state),
  );
}

/** What is said where nobody runs the chosen configuration. */
function banner() {
  if (!switches.impossible.length) return null;
  const broken = switches.impossible.map((condition) => el("code", {}, switches.pipeline.conditions[condition].text));
  return el("p", { class: "banner", role: "alert" }, "Nobody runs such a configuration: the pipeline says that ", between(broken, " and "), " always holds.");
}

const missingPage = (what, name) => [heading(`No such ${what}`, name), empty("There is none of this name in this pipeline. It may have another name by now: search for it.")];

// --- overviews ---

function homePage() {
  const cards = [...pipelines.values()].map((pipeline) => {
    const { findings } = pipeline;
    const errors = findings.filter(({ severity }) => severity === "error").length;
    const found = [errors && count(errors, "error"), findings.length - errors && count(findings.length - errors, "warning")].filter(Boolean).join(", ");
    return el(
      "li",
      {},
      el("a", { href: link({ pipeline: pipeline.name, choice: new Map() }) }, pipeline.name),
      el("p", {}, [count(pipeline.stages.length, "stage"), count(pipeline.fields.length, "field"), count(pipeline.keys.length, "key")].join(" · ")),
      el("p", { class: errors ? "has errors" : found ? "has warnings" : "has" }, found || "nothing breaks"),
    );
  });
  const stages = new Set(data.pipelines.flatMap(({ stages }) => stages.map(({ qualname }) => qualname))).size + data.loose.stages.length;
  return [
    heading("Contracts", TITLE),
    el("p", { class: "lead" }, [count(cards.length, "pipeline"), count(stages, "stage"), count(Object.keys(data.fields).length, "field")].join(", "), ". Press ", el("kbd", {}, "/"), " to search."),
    cards.length ? section("Pipelines", el("ul", { class: "cards" }, cards)) : empty("There is no pipeline yet: what its stages read of each other cannot be told."),
    loose(),
    section("Error codes", el("p", {}, "What each means, why it hurts and how it is fixed: ", el("a", { href: link({ view: "codes" }) }, "the catalogue"), ".")),
  ];
}

/** What is in no pipeline. */
function loose() {
  const entry = ({ name, about }) => el("li", {}, el("a", { href: link({ owner: name }), title: name }, shortened(name)), el("p", {}, about.join(" ")));
  const list = (title, entries) => (entries.length ? section(title, el("ul", { class: "entries" }, entries.map(entry))) : null);
  return [list("Stages in no pipeline", data.loose.stages), list("Schemas of their own", data.loose.schemas)];
}

function pipelinePage() {
  const { pipeline } = switches;
  const { stages, fields, keys, findings } = pipeline;
  const numbers = [count(stages.length, "stage"), count(fields.length, "field"), `${keys.length ? count(keys.length, "key") : "no key"} of the configuration`];
  const entries = stages.map((stage, at) => {
    const on = switches.stage(at);
    const found = switches.findings().filter((one) => one.stage === stage.name);
    const when = stage.on === null ? null : el("p", { class: "when" }, sentence([`where ${pipeline.conditions[stage.on].text}`]));
    const sign = found.length ? el("a", { href: link({ stage: stage.name }), class: `count ${found[0].severity}` }, count(found.length, "finding")) : null;
    return el("li", { class: greyed(on) }, el("p", { class: "who" }, mark(on), stageLink(stage.name), sign), paragraphs(stage.about), when);
  });
  const names = (list) => (list.length ? between(list.map((name) => el("span", { class: greyed(switches.field(name)) }, fieldLink(name))), ", ") : "nothing");
  const always = pipeline.always.map((condition) => el("li", {}, conditionLink(pipeline.conditions[condition].text)));
  return [
    heading("Pipeline", pipeline.name),
    el("p", { class: "lead" }, numbers.join(", "), ". ", findings.length ? el("a", { href: link({ view: "findings" }) }, `${count(findings.length, "finding")} over all configurations`) : "Nothing breaks, in any configuration", "."),
    graph(pipeline),
    section("What goes in and comes out", el("dl", {}, el("dt", {}, "inputs"), el("dd", {}, names(pipeline.inputs.map(({ field }) => field))), el("dt", {}, "outputs"), el("dd", {}, names(pipeline.outputs)))),
    always.length ? section("What always holds", el("ul", {}, always)) : null,
    section("Stages, in their order", stages.length ? el("ol", { class: "stages" }, entries) : empty("It has no stage.")),
  ];
}

function findingsPage() {
  const found = switches.findings();
  const chosen = switches.cases.size > 0;
  const where = chosen ? "in the chosen configuration" : "over all configurations";
  const none = switches.impossible.length ? "Nobody runs this configuration, so nothing breaks in it." : `Nothing breaks ${where}.`;
  const level = (name) => found.filter((one) => one.level === name);
  return [
    heading("Findings", switches.pipeline.name),
    el("p", { class: "lead" }, found.length ? `${count(found.length, "finding")} of check ${where}.` : none),
    findingList(level("certain"), chosen ? "In this configuration" : "In every configuration"),
    findingList(level("possible"), "In some configurations"),
  ];
}

// --- a stage, a field, a contract of its own ---

function stagePage(at) {
  const { pipeline } = switches;
  const stage = pipeline.stages[at];
  const on = switches.stage(at);
  const facts = stage.lines.filter(({ label, about }) => !about && label !== "reads" && label !== "writes");
  const step = (to, text) => (pipeline.stages[to] ? el("a", { href: link({ stage: pipeline.stages[to].name }) }, text(pipeline.stages[to].name)) : el("span"));
  return [
    heading(`Stage ${at + 1} of ${pipeline.stages.length}`, stage.name, el("span", { class: `state ${SWITCHED[on][0]}` }, mark(on), stage.on === null ? "runs always" : SWITCHED[on][2])),
    paragraphs(stage.about),
    el("dl", {}, facts.map(({ label, facts: told }) => [el("dt", {}, label), el("dd", {}, between(told.map(sentence), "; "))]), el("dt", {}, "declared by"), el("dd", {}, el("code", {}, stage.qualname))),
    findingList(switches.findings().filter((one) => one.stage === stage.name)),
    section("Reads", fieldsOfStage(at, "reads", "Comes from")),
    section("Writes", fieldsOfStage(at, "writes", "Goes to")),
    graph(pipeline, { stage: at }),
    el("nav", { class: "steps", "aria-label": "Neighbours" }, step(at - 1, (name) => `← ${name}`), step(at + 1, (name) => `${name} →`)),
  ];
}

function fieldPage(name) {
  const { kinds } = data.fields[name];
  const field = switches?.pipeline.fieldsByName.get(name);
  const others = [...pipelines.values()].filter((pipeline) => pipeline !== switches?.pipeline && pipeline.fieldsByName.has(name));
  const elsewhere = others.map((pipeline) => el("a", { href: link({ pipeline: pipeline.name, field: name }) }, pipeline.name));
  const meanings = field?.about ?? [...new Set(data.fields[name].declared.map(({ about }) => about).filter(Boolean))];
  const on = field ? switches.field(name) : true;
  return [
    heading("Field", name, chips(name), field && el("span", { class: `state ${SWITCHED[on][0]}` }, mark(on), { true: "in the batch", false: "not in this configuration", null: "depends on the configuration" }[on])),
    meanings.length ? paragraphs(meanings) : empty("Nobody has said what it means."),
    field && [
      findingList(switches.findings().filter((one) => one.field === name)),
      section(["Path through ", switches.pipeline.name], strip(name), pathOfField(field)),
      graph(switches.pipeline, { field: name }),
    ],
    !field && switches && empty(`It is nowhere in the pipeline ${switches.pipeline.name}.`),
    elsewhere.length ? el("p", {}, "Other pipelines with this field: ", between(elsewhere, ", "), ".") : null,
    section("Declarations and policies", declarations(name)),
  ];
}

function ownerPage(owner) {
  const stage = data.loose.stages.find(({ name }) => name === owner);
  const schema = data.loose.schemas.find(({ name }) => name === owner);
  if (!stage && !schema) return missingPage("contract", owner);
  const sides = stage ? [["Reads", "reads"], ["Writes", "writes"]] : [["Fields", "schema"]];
  const fields = (side) => (declaredBy.get(owner) ?? []).filter((one) => one.side === side);
  const rows = (side) => fields(side).map(({ field, place, details, about }) => ["", [[fieldLink(field)], el("code", {}, place), details.join("; "), about]]);
  return [
    heading(stage ? "Stage in no pipeline" : "Schema", shortened(owner)),
    paragraphs((stage ?? schema).about),
    el("dl", {}, stage && [el("dt", {}, "rows"), el("dd", {}, stage.rows)], el("dt", {}, "declared by"), el("dd", {}, el("code", {}, owner))),
    sides.map(([title, side]) => section(title, fields(side).length ? table(["Field", "Declared", "Details", "Meaning"], rows(side)) : empty("nothing"))),
  ];
}

// --- what switches: conditions and keys ---

/** The stages and fields under some conditions. */
function under(numbers) {
  const { pipeline } = switches;
  const stages = pipeline.stages.flatMap((stage, at) => (numbers.has(stage.on) ? [el("li", { class: greyed(switches.stage(at)) }, mark(switches.stage(at)), stageLink(stage.name))] : []));
  const fields = pipeline.stages.flatMap((stage, at) =>
    stage.lines
      .filter(({ about, on }) => about && numbers.has(on))
      .map((line) => el("li", { class: greyed(switches.line(at, line)) }, mark(switches.line(at, line)), fieldLink(line.about[1], line.about[2]), ` ${line.label === "reads" ? "read" : "written"} by `, stageLink(stage.name))),
  );
  const list = (title, items, none) => section(title, items.length ? el("ul", { class: "plain" }, items) : empty(none));
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
  return [
    heading("Condition", text, el("span", { class: `state ${SWITCHED[on][0]}` }, mark(on), { true: "holds", false: "does not hold", null: "open" }[on])),
    section("What it asks", keys.map((key) => control(switches.pipeline.keys[key], "page"))),
    under(new Set([number])),
  ];
}

function keyPage(text) {
  const { pipeline } = switches;
  const key = pipeline.keyNumbers.get(text);
  const asking = pipeline.conditions.map((_, number) => number).filter((number) => keysIn(pipeline.conditions[number].test).includes(key));
  return [
    heading("Key of the configuration", text),
    control(pipeline.keys[key], "page"),
    section("Conditions that ask it", el("ul", { class: "plain" }, asking.map((number) => el("li", {}, mark(switches.condition(number)), conditionLink(pipeline.conditions[number].text))))),
    under(new Set(asking)),
  ];
}

// --- the catalogue ---

function codePage(code) {
  if (!code) return missingPage("code", state.code);
  const found = [...pipelines.values()].flatMap((pipeline) => {
    const here = pipeline.findings.filter((one) => one.code === code.code).length;
    return here ? [el("li", {}, el("a", { href: link({ pipeline: pipeline.name, view: "findings", choice: new Map() }) }, pipeline.name), ` ${count(here, "finding")}`)] : [];
  });
  return [
    heading("Error code", `${code.code} ${code.title}`),
    codeFacts(code),
    section("In this project", found.length ? el("ul", { class: "plain" }, found) : empty("check finds it in no pipeline.")),
    section("Others", el("a", { href: link({ view: "codes" }) }, "All codes")),
  ];
}

const codeFacts = ({ means, hurts, fix }) => el("dl", {}, el("dt", {}, "means"), el("dd", {}, means), el("dt", {}, "hurts"), el("dd", {}, hurts), el("dt", {}, "fix"), el("dd", {}, fix));

function codesPage() {
  const entry = (code) => el("article", {}, el("h2", {}, codeLink(code.code), ` ${code.title}`), codeFacts(code));
  return [heading("Error codes", "The catalogue"), el("div", { class: "codes" }, data.codes.map(entry))];
}
