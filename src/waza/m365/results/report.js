"use strict";
const find = (selector) => document.querySelector(selector);
const [tools, list, words, evaluator, order, fold, shown, theme] = [
  "#tools", "#items", "#words", "#evaluator", "#order", "#fold", "#shown", "#theme",
].map(find);
const items = [...list.children];
const filters = [...document.querySelectorAll("[data-show]")];

const failed = (item, name) =>
  [...item.querySelectorAll("tr:is(.fail, .error)")].some((row) => row.dataset.evaluator === name);

function show() {
  const status = filters.find((button) => button.ariaPressed === "true").dataset.show;
  const wanted = words.value.trim().toLowerCase();
  for (const item of items) {
    item.hidden = !(
      (status === "all" || item.dataset.status === status) &&
      (!evaluator.value || failed(item, evaluator.value)) &&
      item.textContent.toLowerCase().includes(wanted)
    );
  }
  const count = items.filter((item) => !item.hidden).length;
  shown.value = count === items.length ? "" : `${count} of ${items.length} items`;
  label();
}

const folded = () => items.filter((item) => !item.hidden && !item.open);
const label = () => { fold.textContent = folded().length ? "Expand all" : "Collapse all"; };

for (const button of filters) {
  button.addEventListener("click", () => {
    for (const other of filters) other.ariaPressed = String(other === button);
    show();
  });
}
words.addEventListener("input", show);
evaluator.addEventListener("change", show);
order.addEventListener("change", () => {
  const ranks = ["error", "partial", "fail", "pass"];
  const rank = (item) => (order.value ? ranks.indexOf(item.dataset.status) : 0);
  list.append(...items.toSorted((one, other) => rank(one) - rank(other)));
});
fold.addEventListener("click", () => {
  const open = folded().length > 0;
  for (const item of items) if (!item.hidden) item.open = open;
});
list.addEventListener("toggle", label, true);
theme.addEventListener("click", () => {
  const { style } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  style.colorScheme = (style.colorScheme || system) === "dark" ? "light" : "dark";
});
tools.hidden = theme.hidden = false;
label();
