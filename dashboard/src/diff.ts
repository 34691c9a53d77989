/** Unified diffs, and what two lists have in common. */

export type LineKind = "added" | "removed" | "same" | "place" | "note";

export interface DiffLine {
  kind: LineKind;
  text: string;
}

/** The lines of a unified diff by what they are. Headers of files are left out: the page names the file. */
export function readDiff(text: string): DiffLine[] {
  const found: DiffLine[] = [];
  let inside = false; // a header may look like a change: "--- a" is a removed "-- a" below the first @@
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (line.startsWith("@@")) {
      inside = true;
      found.push({ kind: "place", text: line });
    } else if (line.startsWith("diff --git ")) inside = false;
    else if (!inside) {
      if (!/^(--- |\+\+\+ |index |new file|deleted file|old mode|new mode|similarity|rename)/.test(line) && line)
        found.push({ kind: "note", text: line });
    } else if (line.startsWith("+")) found.push({ kind: "added", text: line.slice(1) });
    else if (line.startsWith("-")) found.push({ kind: "removed", text: line.slice(1) });
    else if (line.startsWith("\\")) found.push({ kind: "note", text: line.slice(2) });
    else found.push({ kind: "same", text: line.slice(1) });
  }
  return found;
}

/** A pair of neighbours in a comparison; one that has no counterpart stands alone. */
export interface Pair<T> {
  a?: T;
  b?: T;
  same: boolean;
}

const MOST = 1000; // steps of each side that are aligned; the time grows with their product

/**
 * Align two lists by a longest common subsequence of their keys. Neighbours of the same sort that differ share a row.
 */
export function align<T>(a: readonly T[], b: readonly T[], key: (item: T) => string, sort: (item: T) => string): Pair<T>[] {
  if (a.length > MOST || b.length > MOST) {
    const longer = Math.max(a.length, b.length);
    return Array.from({ length: longer }, (_, i) => pair(a[i], b[i], key));
  }
  const keysA = a.map(key);
  const keysB = b.map(key);
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = keysA[i] === keysB[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const found: Pair<T>[] = [];
  let [i, j] = [0, 0];
  let [onlyA, onlyB]: [T[], T[]] = [[], []];
  const flush = () => {
    found.push(...join(onlyA, onlyB, sort));
    [onlyA, onlyB] = [[], []];
  };
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && keysA[i] === keysB[j]) {
      flush();
      found.push({ a: a[i++] as T, b: b[j++] as T, same: true });
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) onlyA.push(a[i++] as T);
    else onlyB.push(b[j++] as T);
  }
  flush();
  return found;
}

function pair<T>(a: T | undefined, b: T | undefined, key: (item: T) => string): Pair<T> {
  return {
    ...(a === undefined ? {} : { a }),
    ...(b === undefined ? {} : { b }),
    same: a !== undefined && b !== undefined && key(a) === key(b),
  };
}

/** Put what differs between two matches side by side, in order, where it is of the same sort. */
function join<T>(a: readonly T[], b: readonly T[], sort: (item: T) => string): Pair<T>[] {
  const found: Pair<T>[] = [];
  const rest = [...b];
  for (const one of a) {
    const place = rest.findIndex((other) => sort(other) === sort(one));
    if (place < 0) found.push({ a: one, same: false });
    else {
      found.push(...rest.splice(0, place).map((other) => ({ b: other, same: false })));
      found.push({ a: one, b: rest.shift() as T, same: false });
    }
  }
  return [...found, ...rest.map((other) => ({ b: other, same: false }))];
}
