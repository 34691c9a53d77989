/** Hooks that load what pages show. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Slice } from "./data";

export type Loaded<T> = { state: "loading" } | { state: "error"; error: Error } | { state: "done"; value: T };

/** Load something when the page opens and whenever one of `keys` changes; what was shown stays until then. */
export function useLoad<T>(load: () => Promise<T>, keys: readonly unknown[]): Loaded<T> {
  const [loaded, set] = useState<Loaded<T>>({ state: "loading" });
  useEffect(() => {
    let current = true;
    load().then(
      (value) => current && set({ state: "done", value }),
      (error: unknown) => current && set({ state: "error", error: asError(error) }),
    );
    return () => {
      current = false;
    };
  }, keys);
  return loaded;
}

/** What was thrown, as an error. */
export const asError = (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** A long list of which only slices are ever asked for. */
export interface Slices<T> {
  /** How many there are; undefined until the first slice has come. */
  total: number | undefined;
  /** One of them; undefined while its slice is on its way. */
  at(index: number): T | undefined;
  /** Ask for the slices that have these, the last one not included. */
  want(from: number, to: number): void;
  /** All that has come so far, from the first on without a gap. */
  loaded(): T[];
  error: Error | undefined;
}

export const SLICE = 100;

interface Store<T> {
  key: string;
  total: number | undefined;
  slices: Map<number, T[] | "asked">;
  error: Error | undefined;
}

const emptyStore = <T>(key: string): Store<T> => ({ key, total: undefined, slices: new Map(), error: undefined });

/** A list by slices; another `key` is another list. The old one is shown until the first slice of the new one has come. */
export function useSlices<T>(key: string, fetch: (offset: number, limit: number) => Promise<Slice<T>>): Slices<T> {
  const shown = useRef<Store<T>>(emptyStore(""));
  const next = useRef<Store<T>>(emptyStore(""));
  const [, redraw] = useState(0);
  const fetchNow = useRef(fetch);
  fetchNow.current = fetch;

  const ask = useCallback((store: Store<T>, slice: number) => {
    if (store.slices.has(slice)) return;
    store.slices.set(slice, "asked");
    const arrived = () => {
      if (next.current !== store) return; // the reader has gone on to another list
      shown.current = store;
      redraw((n) => n + 1);
    };
    fetchNow.current(slice * SLICE, SLICE).then(
      (found) => {
        store.slices.set(slice, found.items);
        store.total = found.total;
        store.error = undefined;
        arrived();
      },
      (error: unknown) => {
        store.slices.delete(slice);
        store.error = asError(error);
        arrived();
      },
    );
  }, []);

  useEffect(() => {
    next.current = emptyStore(key);
    ask(next.current, 0);
  }, [key]);

  const store = shown.current;
  const at = (index: number) => {
    const slice = store.slices.get(Math.floor(index / SLICE));
    return slice === "asked" ? undefined : slice?.[index % SLICE];
  };
  return {
    total: store.total,
    at,
    want(from, to) {
      if (store.total === undefined || store.error) return;
      const end = Math.min(to, store.total);
      for (let slice = Math.floor(from / SLICE); slice * SLICE < end; slice++) ask(store, slice);
    },
    loaded() {
      const found: T[] = [];
      for (let slice = 0; ; slice++) {
        const one = store.slices.get(slice);
        if (!one || one === "asked") return found;
        found.push(...one);
      }
    },
    error: store.error,
  };
}

/** Whether a media query holds, as it changes. */
export function useMedia(query: string): boolean {
  const [holds, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const changed = () => set(list.matches);
    changed();
    list.addEventListener("change", changed);
    return () => list.removeEventListener("change", changed);
  }, [query]);
  return holds;
}
