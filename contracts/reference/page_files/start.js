// What happens when the address changes, a key is pressed, or a button of the header is used.

let first = true;
let resting = 0;

function render() {
    const before = state;
    const focused = document.activeElement?.id;
    const heads = [byId("stages"), byId("panel")].map((element) => [element, element.scrollTop]);
    state = parse(location.hash);
    switches = state.pipeline ? new Switches(pipelines.get(state.pipeline), state.choice) : null;
    byId("pick").value = state.pipeline ?? "";
    byId("main").replaceChildren(...[shown()].flat(Infinity).filter(Boolean));
    byId("stages").replaceChildren(...stageList().flat(Infinity));
    byId("panel").replaceChildren(...panel().flat(Infinity).filter(Boolean));
    document.body.classList.toggle("bare", !switches);
    document.body.classList.toggle("fixed", switches?.pipeline.keys.length === 0);
    byId("chosen").hidden = !switches?.cases.size;
    byId("chosen").textContent = String(switches?.cases.size ?? "");
    for (const [element, top] of heads) element.scrollTop = top;
    const name = document.querySelector("main h1")?.textContent;
    document.title = name && name !== TITLE ? `${name} · ${TITLE}` : TITLE;
    const moved = PAGES.some((page) => state[page] !== before[page]) || state.pipeline !== before.pipeline;
    if (first || !moved) byId(focused)?.focus({ preventScroll: true });
    else {
        drawers(null);
        focusHeading();
        window.scrollTo(0, history.state?.top ?? 0);
    }
    document.querySelector("#stages [aria-current]")?.scrollIntoView({ block: "nearest" });
    first = false;
}

/** Note how far a state is scrolled, for the way back to it. */
function remember() {
    clearTimeout(resting);
    const hash = location.hash;
    resting = setTimeout(() => hash === location.hash && history.replaceState({ top: window.scrollY }, ""), 100);
}

/** Where somebody who reads with the keyboard goes on. */
function focusHeading() {
    (document.querySelector("main h1") ?? byId("main")).focus({ preventScroll: true });
}

/** Open one of the two drawers of a narrow screen, or close both. */
function drawers(open) {
    for (const [button, drawer] of [
        ["show-stages", "stages"],
        ["show-panel", "panel"],
    ]) {
        byId(drawer).classList.toggle("open", drawer === open);
        byId(button).setAttribute("aria-expanded", String(drawer === open));
    }
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const THEME = "batchpact-theme";

/** Light or dark: as the system has it, until somebody says otherwise. */
function theme(wanted) {
    const root = document.documentElement;
    if (wanted) root.dataset.theme = wanted;
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    const other = now === "dark" ? "light" : "dark";
    byId("theme").textContent = now === "dark" ? "Light" : "Dark";
    byId("theme").setAttribute("aria-label", `Switch to ${other} colours`);
    return other;
}

/** What the browser keeps for this page; it may keep nothing for a file. */
function kept(value) {
    try {
        if (value) localStorage.setItem(THEME, value);
        return localStorage.getItem(THEME);
    } catch {
        return null;
    }
}

function start() {
    const names = [...pipelines.keys()];
    const options = [
        el("option", { value: "" }, names.length ? "all pipelines" : "no pipeline"),
        ...names.map((name) => el("option", { value: name }, name)),
    ];
    byId("pick").append(...options);
    byId("pick").addEventListener(
        "change",
        ({ target }) => (location.hash = link({ pipeline: target.value, choice: new Map() })),
    );
    byId("pick-label").hidden = names.length < 2;
    for (const [button, drawer] of [
        ["show-stages", "stages"],
        ["show-panel", "panel"],
    ]) {
        byId(button).addEventListener("click", () => drawers(byId(drawer).classList.contains("open") ? null : drawer));
    }
    theme(kept());
    dark.addEventListener("change", () => theme());
    byId("theme").addEventListener("click", () => {
        const other = theme();
        theme(other);
        kept(other);
    });
    Search.start();
    document.querySelector(".skip").addEventListener("click", (event) => {
        event.preventDefault(); // the address is the state
        focusHeading();
    });
    document.addEventListener("keydown", (event) => {
        const typing = event.target.closest?.("input:not([type=radio]), select, textarea");
        if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
            byId("search").focus();
            event.preventDefault();
        } else if (event.key === "Escape") drawers(null);
    });
    document.addEventListener("click", ({ target }) => target.closest("#stages, #panel, .top") || drawers(null));
    document.addEventListener("scroll", remember, { passive: true });
    history.scrollRestoration = "manual";
    window.addEventListener("hashchange", render);
    render();
}

start();
