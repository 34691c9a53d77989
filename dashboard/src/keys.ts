/** The keyboard: what keys do on every page. Typing into a field is left alone. */

export const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["j / k", "next and previous row or part of the page"],
  ["Enter", "open it"],
  ["n / p", "next and previous failed trial"],
  ["/", "search"],
  ["Esc", "leave a field or this help; else one page up"],
  ["?", "this help"],
];

/** A list that j and k walk through. There is one on a page at most. */
export interface Walker {
  move(by: 1 | -1): void;
}

let walker: Walker | undefined;

/** Make j and k walk through a list; returns what ends that. */
export function walk(list: Walker): () => void {
  walker = list;
  return () => {
    if (walker === list) walker = undefined;
  };
}

/** Do what a key stands for; whether it stands for anything. */
export function press(event: KeyboardEvent, showHelp: () => void): boolean {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog")) return false;
  if (target.matches("input, select, textarea")) {
    if (event.key !== "Escape") return false;
    target.blur();
    return true;
  }
  switch (event.key) {
    case "j":
      move(1);
      return true;
    case "k":
      move(-1);
      return true;
    case "n":
    case "p":
    case "Escape":
      return follow(`a[data-key="${event.key}"]`);
    case "/": {
      const field = document.querySelector<HTMLInputElement>("[data-search]");
      field?.focus();
      field?.select();
      return field !== null;
    }
    case "?":
      showHelp();
      return true;
    default:
      return false;
  }
}

function move(by: 1 | -1): void {
  if (walker) walker.move(by);
  else step(by);
}

/** Move the focus among the parts of a page that is no list. */
function step(by: 1 | -1): void {
  const parts = [...document.querySelectorAll<HTMLElement>("[data-step]")].filter((part) => part.checkVisibility());
  const active = document.activeElement;
  let at = parts.findIndex((part) => part === active);
  if (at < 0 && active && active !== document.body) {
    // From within a part, or between two of them, it goes to the neighbour in the order of the page.
    const before = parts.filter((part) => part.compareDocumentPosition(active) & Node.DOCUMENT_POSITION_FOLLOWING);
    at = before.length - (by > 0 ? 1 : 0);
  } else if (at < 0) at = by > 0 ? -1 : parts.length;
  const next = parts[Math.max(0, Math.min(parts.length - 1, at + by))];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

function follow(selector: string): boolean {
  const found = document.querySelector<HTMLAnchorElement>(selector);
  found?.click();
  return found !== null;
}
