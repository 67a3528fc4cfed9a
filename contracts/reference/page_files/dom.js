// Elements. Text becomes text nodes and never markup: a description may hold anything.

function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(
        ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
    );
    return element;
}

const byId = (id) => document.getElementById(id);

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** Put something between the items of a list. */
const between = (items, separator) => items.flatMap((item, at) => (at ? [separator, item] : [item]));

/** Say something to who cannot see it. */
function say(text) {
    byId("said").textContent = text;
}
