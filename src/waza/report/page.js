"use strict";
const find = (selector) => document.querySelector(selector);
const [tools, list, words, grader, order, fold, shown, theme] = [
  "#tools", "#items", "#words", "#grader", "#order", "#fold", "#shown", "#theme",
].map(find);
const filters = [...document.querySelectorAll("[data-show]")];
const cards = [...document.querySelectorAll("details[data-item]")];
const items = new Map(); // an item may be in several parts of the page: all of them, by its key
for (const part of document.querySelectorAll("[data-item]")) {
  items.set(part.dataset.item, [...(items.get(part.dataset.item) ?? []), part]);
}

const failed = (part, name) =>
  [...part.querySelectorAll("tr:is(.fail, .error)")].some((row) => row.dataset.grader === name);

function show() {
  const status = filters.find((button) => button.ariaPressed === "true").dataset.show;
  const wanted = words.value.trim().toLowerCase();
  let count = 0;
  for (const parts of items.values()) {
    const wants =
      (status === "all" || parts[0].dataset.status === status) &&
      (!grader?.value || parts.some((part) => failed(part, grader.value))) &&
      parts.some((part) => part.textContent.toLowerCase().includes(wanted));
    for (const part of parts) part.hidden = !wants;
    count += wants;
  }
  shown.value = count === items.size ? "" : `${count} of ${items.size} ${tools.dataset.noun}`;
  label();
}

const folded = () => cards.filter((card) => !card.hidden && !card.open);
const label = () => { if (fold) fold.textContent = folded().length ? "Expand all" : "Collapse all"; };

for (const button of filters) {
  button.addEventListener("click", () => {
    for (const other of filters) other.ariaPressed = String(other === button);
    show();
  });
}
words?.addEventListener("input", show);
grader?.addEventListener("change", show);
order?.addEventListener("change", () => {
  const ranks = ["error", "partial", "fail", "pass"];
  const rank = (item) => (order.value ? ranks.indexOf(item.dataset.status) : 0);
  list.append(...cards.toSorted((one, other) => rank(one) - rank(other)));
});
fold?.addEventListener("click", () => {
  const open = folded().length > 0;
  for (const card of cards) if (!card.hidden) card.open = open;
});
document.addEventListener("toggle", label, true);
theme.addEventListener("click", () => {
  const { style } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  style.colorScheme = (style.colorScheme || system) === "dark" ? "light" : "dark";
});
if (tools) tools.hidden = false;
theme.hidden = false;
label();
