// The catalogue of error codes.

function codePage(code) {
    if (!code) return missingPage("code", state.code);
    const found = [...pipelines.values()].flatMap((pipeline) => {
        const here = pipeline.findings.filter((one) => one.code === code.code).length;
        return here
            ? [
                  el(
                      "li",
                      {},
                      el(
                          "a",
                          { href: link({ pipeline: pipeline.name, view: "findings", choice: new Map() }) },
                          pipeline.name,
                      ),
                      ` ${count(here, "finding")}`,
                  ),
              ]
            : [];
    });
    return [
        heading("Error code", `${code.code} ${code.title}`),
        codeFacts(code),
        section(
            "In this project",
            found.length ? el("ul", { class: "plain" }, found) : empty("check finds it in no pipeline."),
        ),
        section("Others", el("a", { href: link({ view: "codes" }) }, "All codes")),
    ];
}

const codeFacts = ({ means, hurts, fix }) =>
    el(
        "dl",
        {},
        el("dt", {}, "means"),
        el("dd", {}, means),
        el("dt", {}, "hurts"),
        el("dd", {}, hurts),
        el("dt", {}, "fix"),
        el("dd", {}, fix),
    );

function codesPage() {
    const entry = (code) => el("article", {}, el("h2", {}, codeLink(code.code), ` ${code.title}`), codeFacts(code));
    return [heading("Error codes", "The catalogue"), el("div", { class: "codes" }, data.codes.map(entry))];
}
