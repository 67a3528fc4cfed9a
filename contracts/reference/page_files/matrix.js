// The matrix of fields against stages. Only the rows in sight are in the document, and of these only the cells that
// hold something, so that thousands of fields against hundreds of stages scroll as a few do.

/** In pixels; matrix.css has the same. */
const SIZE = { row: 26, column: 28, name: 230, head: 170 };

/** How wide the matrix may be on paper. */
const PAPER = 680;

/** So many rows above and below those in sight are in the document, too. */
const BESIDE = 25;

/** Where the matrix was left, so that a change of the configuration does not move it. */
let place = { pipeline: null, field: null };

let shownMatrix = null;
addEventListener("beforeprint", () => shownMatrix?.print());
addEventListener("afterprint", () => shownMatrix?.draw(true));

function matrixPage() {
    const { pipeline } = switches;
    if (place.pipeline !== pipeline.name || place.field !== (state.field ?? null)) {
        place = {
            pipeline: pipeline.name,
            field: state.field ?? null,
            asked: true,
            top: 0,
            left: 0,
            row: 0,
            column: 0,
            filter: "",
        };
    }
    const matrix = new Matrix(pipeline);
    queueMicrotask(() => matrix.start());
    shownMatrix = matrix;
    return matrix.element;
}

class Matrix {
    constructor(pipeline) {
        this.pipeline = pipeline;
        this.columns = pipeline.stages.length + 2;
        this.body = el("div", { role: "rowgroup" });
        this.column = el("div", { class: "column", hidden: true });
        this.canvas = el("div", { class: "canvas" }, this.header(), this.column, this.body);
        this.grid = el(
            "div",
            {
                class: "matrix",
                role: "grid",
                tabindex: "0",
                id: "matrix",
                "aria-label": `Fields of ${pipeline.name} against its stages`,
                "aria-describedby": "matrix-help",
                "aria-colcount": this.columns + 1,
            },
            this.canvas,
        );
        this.told = el("p", { class: "told" }, " ");
        const filter = el("input", {
            id: "matrix-filter",
            type: "search",
            placeholder: "Only fields with …",
            "aria-label": "Show only fields whose name holds this",
            value: place.filter,
        });
        filter.addEventListener("input", () => this.filter(filter.value));
        const legend = ["writes", "reads", "both", "drops"].map((how) =>
            el("span", {}, sign(how, true), ` ${SIGNS[how][1]}`),
        );
        this.element = el(
            "div",
            { class: "matrix-page" },
            heading("Matrix", `Fields against stages of ${pipeline.name}`),
            el(
                "div",
                { class: "bar" },
                filter,
                el("span", { class: "legend" }, legend),
                el("span", { id: "matrix-help", class: "help" }, "Arrows move, Enter opens."),
            ),
            this.grid,
            this.told,
        );
        this.grid.addEventListener("scroll", () => this.scrolled());
        this.grid.addEventListener("keydown", (event) => this.pressed(event));
        this.grid.addEventListener("click", (event) => this.clicked(event));
        this.filter(place.filter);
    }

    header() {
        const labels = Array.from({ length: this.columns }, (_, column) => {
            const stage = this.pipeline.stages[column - 1];
            const on = stage ? switches.stage(column - 1) : true;
            const name = columnName(this.pipeline, column);
            const inside = stage
                ? el("a", { href: link({ stage: name }), tabindex: "-1", title: name }, name)
                : el("span", {}, name);
            const here = stage && name === state.stage ? "here" : "";
            return el(
                "div",
                {
                    class: `label ${greyed(on)} ${here}`,
                    role: "columnheader",
                    "aria-colindex": column + 2,
                    style: null,
                    "data-column": column,
                },
                inside,
            );
        });
        labels.forEach((label, column) => (label.style.left = `${SIZE.name + column * SIZE.column}px`));
        return el(
            "div",
            { class: "head", role: "row", "aria-rowindex": 1 },
            el("div", { class: "corner", role: "columnheader", "aria-colindex": 1 }, "field"),
            labels,
        );
    }

    /** Show the rows whose field has a text in its name. */
    filter(text) {
        place.filter = text;
        this.rows = this.pipeline.fields.filter(({ name }) => name.toLowerCase().includes(text.trim().toLowerCase()));
        place.row = Math.max(0, Math.min(place.row, this.rows.length - 1));
        this.canvas.style.width = `${SIZE.name + this.columns * SIZE.column}px`;
        this.canvas.style.height = `${SIZE.head + this.rows.length * SIZE.row}px`;
        this.grid.setAttribute("aria-rowcount", this.rows.length + 1);
        this.draw(true);
    }

    /** What can be done only once it is in the document: where it is scrolled to. */
    start() {
        if (place.asked) {
            place.asked = false;
            place.row = Math.max(
                0,
                this.rows.findIndex(({ name }) => name === place.field),
            );
            const first = this.rows.length ? Math.min(...cellsOf(this.pipeline, this.rows[place.row].name).keys()) : 0;
            place.column = state.stage
                ? (this.pipeline.numbers.get(state.stage)?.[0] ?? -1) + 1
                : Number.isFinite(first)
                  ? first
                  : 0;
            this.grid.scrollTop = place.row * SIZE.row - this.grid.clientHeight / 3;
            this.grid.scrollLeft = place.column * SIZE.column - this.grid.clientWidth / 3;
        } else {
            this.grid.scrollTop = place.top;
            this.grid.scrollLeft = place.left;
        }
        this.draw(true);
    }

    scrolled() {
        place.top = this.grid.scrollTop;
        place.left = this.grid.scrollLeft;
        this.draw(false);
    }

    /** Put the rows in sight, and some beside them, into the document. */
    draw(anew) {
        this.canvas.style.zoom = "";
        const top = Math.floor(this.grid.scrollTop / SIZE.row);
        const bottom = Math.min(this.rows.length, top + Math.ceil((this.grid.clientHeight || 600) / SIZE.row));
        if (!anew && top >= this.first && bottom <= this.last) return;
        this.fill(Math.max(0, top - BESIDE), Math.min(this.rows.length, bottom + BESIDE));
    }

    /** All rows, in the width of a sheet. */
    print() {
        this.fill(0, this.rows.length);
        this.canvas.style.zoom = Math.min(1, PAPER / (SIZE.name + this.columns * SIZE.column));
    }

    fill(first, last) {
        [this.first, this.last] = [first, last];
        this.body.replaceChildren(...this.rows.slice(first, last).map((field, at) => this.row(field, first + at)));
        this.grid.setAttribute("aria-activedescendant", "matrix-cell");
        if (!this.rows.length) this.body.replaceChildren(el("p", { class: "empty" }, "No field has this in its name."));
    }

    row({ name }, at) {
        const cells = [...cellsOf(this.pipeline, name)].map(([column, { how, on }]) => {
            const cell = el(
                "div",
                {
                    class: `cell ${greyed(on)}`,
                    role: "gridcell",
                    "aria-colindex": column + 2,
                    "aria-label": `${columnName(this.pipeline, column)}: ${SIGNS[how][1]}`,
                    "data-column": column,
                },
                sign(how, on),
            );
            cell.style.left = `${SIZE.name + column * SIZE.column}px`;
            return cell;
        });
        const here = name === place.field ? "here" : "";
        const title = el(
            "div",
            { class: "rowname", role: "rowheader", "aria-colindex": 1 },
            el(
                "a",
                { href: link({ field: name }), tabindex: "-1", title: name, class: greyed(switches.field(name)) },
                name,
            ),
        );
        const row = el(
            "div",
            { class: `row ${here}`, role: "row", "aria-rowindex": at + 2, "data-row": at },
            title,
            cells,
        );
        row.style.top = `${SIZE.head + at * SIZE.row}px`;
        if (at === place.row) row.append(this.active());
        return row;
    }

    /** The cell at which the keyboard is. */
    active() {
        const active = el("div", {
            class: "active",
            id: "matrix-cell",
            role: "gridcell",
            "aria-colindex": place.column + 2,
            "aria-label": this.words(),
        });
        active.style.left = `${SIZE.name + place.column * SIZE.column}px`;
        return active;
    }

    words() {
        const { name } = this.rows[place.row];
        const column = columnName(this.pipeline, place.column);
        const cell = cellsOf(this.pipeline, name).get(place.column);
        if (!cell) return `${name}, ${column}: nothing`;
        const line = this.pipeline.stages[place.column - 1]?.lines.find(
            ({ label, about }) => about?.[1] === name && (cell.how === label || cell.how === "both"),
        );
        const told = line
            ? `, ${line.facts.map((fact) => fact.map((part) => (typeof part === "string" ? part : part[2])).join("")).join("; ")}`
            : "";
        return `${name}, ${column}: ${SIGNS[cell.how][1]}${told}${cell.on === false ? " (off)" : ""}`;
    }

    /** Move the active cell and bring it into sight. */
    move(row, column) {
        if (!this.rows.length) return;
        place.row = Math.max(0, Math.min(this.rows.length - 1, row));
        place.column = Math.max(0, Math.min(this.columns - 1, column));
        const { grid } = this;
        const top = place.row * SIZE.row;
        const left = place.column * SIZE.column;
        if (top < grid.scrollTop) grid.scrollTop = top;
        if (top + SIZE.row > grid.scrollTop + grid.clientHeight - SIZE.head - 16)
            grid.scrollTop = top + SIZE.row - grid.clientHeight + SIZE.head + 16;
        if (left < grid.scrollLeft) grid.scrollLeft = left;
        if (left + SIZE.column > grid.scrollLeft + grid.clientWidth - SIZE.name - 16)
            grid.scrollLeft = left + SIZE.column - grid.clientWidth + SIZE.name + 16;
        this.column.hidden = false;
        this.column.style.left = `${SIZE.name + left}px`;
        this.draw(true);
        this.told.textContent = this.words();
        say(this.words());
    }

    pressed(event) {
        const page = Math.max(1, Math.floor((this.grid.clientHeight - SIZE.head) / SIZE.row) - 1);
        const moves = {
            ArrowUp: [-1, 0],
            ArrowDown: [1, 0],
            ArrowLeft: [0, -1],
            ArrowRight: [0, 1],
            PageUp: [-page, 0],
            PageDown: [page, 0],
            Home: [0, -Infinity],
            End: [0, Infinity],
        };
        if (event.key === "Enter" && this.rows.length) location.hash = link({ field: this.rows[place.row].name });
        else if (moves[event.key] && !event.altKey && !event.metaKey) {
            const [down, right] = moves[event.key];
            this.move(place.row + down, place.column + right);
        } else return;
        event.preventDefault();
    }

    clicked(event) {
        const row = event.target.closest("[data-row]");
        if (!row || event.target.closest("a")) return;
        const column = Math.floor((event.clientX - this.canvas.getBoundingClientRect().left - SIZE.name) / SIZE.column);
        if (column >= 0) this.move(Number(row.dataset.row), column);
    }
}
