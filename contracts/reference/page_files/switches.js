// What a configuration switches on: true, false, or null where that depends on what was left open.

let switches = null;

/** The cases that are chosen, by the number of their key. */
function chosenCases(pipeline, choice) {
    const found = new Map();
    for (const [text, label] of choice) {
        const key = pipeline.keyNumbers.get(text);
        const at = key === undefined ? -1 : pipeline.keys[key].cases.findIndex((one) => one.label === label);
        if (at >= 0) found.set(key, at);
    }
    return found;
}

class Switches {
    constructor(pipeline, choice) {
        this.pipeline = pipeline;
        this.cases = chosenCases(pipeline, choice);
        this.known = new Map();
        this.impossible = pipeline.always.filter((condition) => this.condition(condition) === false);
    }

    /** Whether a condition holds, by its number; null as a number asks nothing. */
    condition(number) {
        if (number === null) return true;
        if (!this.known.has(number)) this.known.set(number, this.holds(this.pipeline.conditions[number].test));
        return this.known.get(number);
    }

    /** Whether a stage runs. */
    stage(at) {
        return this.condition(this.pipeline.stages[at].on);
    }

    /** Whether a stage of this name runs, at one of its places. */
    stages(name) {
        return any((this.pipeline.numbers.get(name) ?? []).map((at) => this.stage(at)));
    }

    /** Whether a line about a field of a stage is so. */
    line(at, line) {
        return all([this.stage(at), this.condition(line.on ?? null)]);
    }

    /** Whether a batch gets to hold a field: given, or written by a stage that runs; read, where nobody writes it. */
    field(name) {
        const uses = usesOf(this.pipeline).get(name) ?? [];
        const made = uses.filter(({ how }) => how === "inputs" || how === "writes");
        return any((made.length ? made : uses).map((use) => this.use(use)));
    }

    /** Whether one use of a field is so. */
    use({ at, on }) {
        return at < 0 ? this.condition(on) : this.line(at, { on });
    }

    holds([kind, ...of]) {
        if (kind === "on") return this.stage(of[0]);
        if (kind === "not") return not(this.holds(of[0]));
        if (kind === "all") return all(of[0].map((part) => this.holds(part)));
        if (kind === "any") return any(of[0].map((part) => this.holds(part)));
        const chosen = this.cases.get(of[0]);
        if (chosen !== undefined) return of[1].includes(chosen);
        return of[1].length === 0 ? false : of[1].length === this.pipeline.keys[of[0]].cases.length ? true : null;
    }

    /** The classes that a part may be of, as its keys are chosen. */
    classes(number) {
        this.allowed ??= this.pipeline.parts.map((part) => classesWhere(this.pipeline, part, this.cases));
        return this.allowed[number];
    }

    /** Whether a finding is "certain", "possible", or (null) in none of the configurations that are chosen. */
    finding({ regions, whole }) {
        if (this.impossible.length) return null;
        if (this.covered(regions)) return "certain";
        const fits = regions.some((region) => region.every(([part, at]) => this.classes(part).has(at)));
        return fits || !whole ? "possible" : null;
    }

    /** Whether everything that is chosen lies within some regions, together. */
    covered(regions) {
        if (!regions.length) return false;
        if (regions.some((region) => !region.length)) return true;
        const [[next]] = regions[0];
        const inside = (at) => regions.filter((region) => region.every(([part, own]) => part !== next || own === at));
        const rest = (region) => region.filter(([part]) => part !== next);
        return [...this.classes(next)].every((at) => this.covered(inside(at).map(rest)));
    }

    /** The findings that are in the chosen configurations, the certain ones and the errors first. */
    findings() {
        this.found ??= this.ranked();
        return this.found;
    }

    ranked() {
        const found = this.pipeline.findings.map((finding) => ({ ...finding, level: this.finding(finding) }));
        const rank = ({ level, severity }) => (level === "certain" ? 0 : 2) + (severity === "error" ? 0 : 1);
        return found.filter(({ level }) => level).sort((one, other) => rank(one) - rank(other));
    }
}

/** The classes of a part in which its keys have the chosen cases. */
function classesWhere(pipeline, { keys, classes }, chosen) {
    const found = new Set();
    classes.forEach((name, combination) => {
        let rest = combination;
        let fits = true;
        for (const key of keys.toReversed()) {
            const count = pipeline.keys[key].cases.length;
            fits &&= (chosen.get(key) ?? rest % count) === rest % count;
            rest = Math.floor(rest / count);
        }
        if (fits) found.add(name);
    });
    return found;
}

const not = (answer) => (answer === null ? null : !answer);
const all = (answers) => (answers.includes(false) ? false : answers.includes(null) ? null : true);
const any = (answers) => (answers.includes(true) ? true : answers.includes(null) ? null : false);

/** Where a pipeline has each field: the number of the stage (-1: the inputs), how, and the number of the condition. */
function usesOf(pipeline) {
    if (pipeline.uses) return pipeline.uses;
    const uses = new Map(pipeline.fields.map(({ name }) => [name, []]));
    for (const { field, on } of pipeline.inputs) uses.get(field).push({ at: -1, how: "inputs", on });
    pipeline.stages.forEach((stage, at) => {
        for (const { label, about, on } of stage.lines) if (about) uses.get(about[1]).push({ at, how: label, on });
        for (const key of stage.drops) uses.get(key)?.push({ at, how: "drops", on: null });
    });
    pipeline.uses = uses;
    return uses;
}
