/** CSV files for spreadsheets. */

type Cell = string | number | boolean | null | undefined;

/** A table as CSV. No cell is a formula: one that begins like it, after blanks, gets an apostrophe. */
export function toCsv(head: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [line(head)];
  for (const row of rows) lines.push(line(row));
  return `${lines.join("\r\n")}\r\n`;
}

function line(cells: readonly Cell[]): string {
  return cells.map(cell).join(",");
}

function cell(value: Cell): string {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = String(value ?? "");
  const safe = /^\s*[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Hand a file to the reader. */
export function download(name: string, text: string): void {
  const link = document.createElement("a");
  // The mark at the beginning tells spreadsheets that it is UTF-8.
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}
