/** Pages by the hash of the address: `#/runs/{id}/{task}/{trial}?arm=baseline`. Every part is percent-encoded. */

import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** The decoded parts of the path: `["runs", "a", "b", "1"]`; empty for the first page. */
  path: string[];
  /** What the page shows of it: search, filters, order, what is open. */
  query: Record<string, string>;
}

/** Read a hash; one that is not an address is the first page. */
export function parse(hash: string): Route {
  const [path = "", query = ""] = split(hash.replace(/^#?\/?/, ""));
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function split(text: string): [string, string] {
  const at = text.indexOf("?");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray % that somebody typed
  }
}

/** The hash of a page. What is empty in the query is left out. */
export function link(path: readonly (string | number)[], query: Record<string, string | number | undefined> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  // Dots alone would be taken for directories where an address is shortened.
  const parts = path.map((part) => encodeURIComponent(part).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E")));
  return `#/${parts.join("/")}${search ? `?${search}` : ""}`;
}

export const linkToRun = (run: string, query: Record<string, string | undefined> = {}) => link(["runs", run], query);

export const linkToTrial = (run: string, task: string, trial: number, arm?: string) =>
  link(["runs", run, task, trial], { arm: arm === "baseline" ? arm : undefined });

/** Go to a page. */
export function go(hash: string): void {
  location.hash = hash;
}

/** Change the query of this page: no new page, no entry in the history, but an address that can be shared. */
export function setQuery(change: Record<string, string | undefined>): void {
  const { path, query } = parse(location.hash);
  const hash = link(path, { ...query, ...change });
  if (hash === location.hash) return;
  history.replaceState(history.state, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The page that the address names, as it changes. */
export function useRoute(): Route {
  const [route, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => set(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
