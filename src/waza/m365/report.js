"use strict";
const items = [...document.querySelectorAll(".item")];
const filters = [...document.querySelectorAll("button[data-show]")];
const search = document.querySelector("#search");

function show() {
  const wanted = filters.find((button) => button.ariaPressed === "true").dataset.show;
  const words = search.value.trim().toLowerCase();
  for (const item of items) {
    const fits = wanted === "all" || item.dataset.status === wanted;
    item.hidden = !(fits && item.textContent.toLowerCase().includes(words));
  }
  document.querySelector("#none").hidden = items.some((item) => !item.hidden);
}

for (const button of filters) {
  button.addEventListener("click", () => {
    for (const other of filters) other.ariaPressed = String(other === button);
    show();
  });
}
search.addEventListener("input", show);
document.querySelector("#fold").addEventListener("click", () => {
  const open = items.some((item) => !item.open);
  for (const item of items) item.open = open;
});
document.querySelector("#theme").addEventListener("click", () => {
  const { style } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  style.colorScheme = (style.colorScheme || system) === "dark" ? "light" : "dark";
});
document.querySelector(".tools").hidden = false;
