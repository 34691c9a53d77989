/** Dark or light: that of the reader's system, until they choose. */

const KEY = "waza-theme";

/** Apply what the reader chose before. */
export function restoreTheme(): void {
  const kept = read();
  if (kept === "dark" || kept === "light") document.documentElement.style.colorScheme = kept;
}

/** Whether the page is dark now. */
export function isDark(): boolean {
  const chosen = document.documentElement.style.colorScheme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Change from dark to light, or back. */
export function switchTheme(): void {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.style.colorScheme = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // A page from a file may have no storage: the choice lasts until it is closed.
  }
  dispatchEvent(new Event("themechange"));
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
