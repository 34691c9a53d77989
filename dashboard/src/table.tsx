/** Tables of any length: only the rows that can be seen are drawn, and only their slices are asked for. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { walk } from "./keys";
import { type Slices, useMedia } from "./load";
import { Failure, Waiting } from "./parts";

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  /** The width in a grid, such as `minmax(8rem, 2fr)`. */
  width: string;
  number?: boolean;
  /** The name by which the rows can be sorted. */
  sort?: string;
  /** Where not all columns fit, "hidden" is left out; where even the rest does not, "title" is a line of its own. */
  narrow?: "title" | "hidden";
}

interface Props<T> {
  name: string;
  columns: readonly Column<T>[];
  rows: Slices<T>;
  tone?: (row: T) => string;
  sort?: { by: string; descending: boolean; change: (by: string, descending: boolean) => void };
}

const BEYOND = 8; // rows drawn above and below what can be seen, so that scrolling finds them there

/** Where readers were in the lists they left, by the address. */
const places = new Map<string, number>();

/** A table once its first slice has come; `empty` takes the place of a table without rows. */
export function VirtualTable<T>({ empty, ...table }: Props<T> & { empty?: ComponentChildren }) {
  const { error, total } = table.rows;
  if (error) return <Failure error={error} />;
  if (total === undefined) return <Waiting />;
  return total === 0 && empty !== undefined ? <>{empty}</> : <Table {...table} />;
}

/** The first link in a row opens it; j and k walk through the rows. */
function Table<T>({ name, columns: every, rows, tone, sort }: Props<T>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [height, setHeight] = useState(44);
  const [range, setRange] = useState<[number, number]>([0, 40]);
  const last = useRef(-1); // the row that had the focus last
  const target = useRef<number | undefined>(undefined); // the row that gets it once it is drawn
  const printing = useMedia("print");
  const crowded = useMedia(`(max-width: ${least(every)}rem)`);
  const columns = crowded ? every.filter((column) => column.narrow !== "hidden") : every;
  const narrow = useMedia(`(max-width: ${least(columns)}rem)`) && crowded;
  const tall = columns.filter((column) => column.narrow === "title").length > 1;
  const total = rows.total ?? 0;
  const latest = useRef({ total, height });
  latest.current = { total, height };

  useLayoutEffect(() => {
    const drawn = body.current?.querySelector("tr");
    if (drawn && !printing) setHeight(drawn.getBoundingClientRect().height || 44);
  }, [narrow, total > 0, printing]);

  useEffect(() => {
    let asked = 0;
    const look = () => {
      asked = 0;
      if (!body.current) return;
      const top = -body.current.getBoundingClientRect().top;
      const first = Math.floor(top / height) - BEYOND;
      const last = Math.ceil((top + innerHeight) / height) + BEYOND;
      // The first rows are there although the table begins below the screen: programs that read pages aloud go on to them.
      const found: [number, number] = [clamp(first, 0, total), clamp(Math.max(last, BEYOND), 0, total)];
      setRange((old) => (old[0] === found[0] && old[1] === found[1] ? old : found));
      places.set(location.hash, scrollY);
    };
    const soon = () => {
      asked ||= requestAnimationFrame(look);
    };
    look();
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener("scroll", soon);
      removeEventListener("resize", soon);
    };
  }, [height, total]);

  // Back in a list, the reader is where they were.
  const restored = useRef(false);
  useLayoutEffect(() => {
    if (restored.current || rows.total === undefined) return;
    restored.current = true;
    const place = places.get(location.hash);
    if (place) scrollTo({ top: place });
  }, [rows.total]);

  const reach = () => {
    if (target.current === undefined) return;
    const row = body.current?.querySelector<HTMLElement>(`tr[data-row="${target.current}"] :is(a, b[tabindex])`);
    if (!row) return;
    target.current = undefined;
    row.focus({ preventScroll: true });
  };

  useEffect(
    () =>
      walk({
        move(by) {
          const { total: all, height: each } = latest.current;
          if (!all || !body.current) return;
          const next = clamp(last.current + by, 0, all - 1);
          const top = body.current.getBoundingClientRect().top + next * each;
          const lowest = innerHeight - 2 * each;
          const highest = 3 * each; // below what sticks to the top
          if (top < highest) scrollBy({ top: top - highest });
          else if (top > lowest) scrollBy({ top: top - lowest });
          last.current = next;
          target.current = next;
          reach();
        },
      }),
    [],
  );

  const [from, to] = printing ? [0, Math.min(rows.loaded().length, total)] : range;
  rows.want(from, to);
  useEffect(reach);

  const drawn = Array.from({ length: Math.max(0, Math.min(to, total) - from) }, (_, i) => from + i);
  const grid = columns.map((column) => column.width).join(" ");
  return (
    <table class={`virtual ${narrow ? "stacked" : ""} ${tall ? "tall" : ""}`} role="table" aria-label={name} aria-rowcount={total + 1} style={{ "--grid": grid }}>
      <thead role="rowgroup">
        <tr role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <Title column={column} sort={sort} />
          ))}
        </tr>
      </thead>
      <tbody
        role="rowgroup"
        ref={body}
        style={printing ? { height: "auto" } : { height: `${total * height}px` }}
        onFocusIn={(event) => {
          last.current = Number((event.target as HTMLElement).closest("tr")?.dataset.row ?? -1);
        }}
      >
        {drawn.map((index) => {
          const row = rows.at(index);
          return (
            <tr
              key={index}
              role="row"
              aria-rowindex={index + 2}
              data-row={index}
              class={row && tone ? tone(row) : ""}
              style={printing ? {} : { transform: `translateY(${index * height}px)` }}
            >
              {row ? columns.map((column) => <Cell column={column} row={row} />) : <td role="cell" class="quiet">Loading …</td>}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Title<T>({ column, sort }: { column: Column<T>; sort: Props<T>["sort"] }) {
  const names = classes(column);
  if (!sort || !column.sort) {
    return (
      <th role="columnheader" scope="col" class={names}>
        {column.title}
      </th>
    );
  }
  const active = sort.by === column.sort;
  const by = column.sort;
  return (
    <th role="columnheader" scope="col" class={names} aria-sort={active ? (sort.descending ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={() => sort.change(by, active ? !sort.descending : Boolean(column.number))}>
        {column.title}
        <span aria-hidden="true">{active ? (sort.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

function Cell<T>({ column, row }: { column: Column<T>; row: T }) {
  return (
    <td role="cell" class={classes(column)} data-label={column.title}>
      {column.cell(row)}
    </td>
  );
}

function classes<T>(column: Column<T>): string {
  return [column.number && "number", column.narrow === "title" && "narrow-title"].filter(Boolean).join(" ");
}

/** The width of the window, in rem, in which all columns fit, with what is between and beside them. */
function least<T>(columns: readonly Column<T>[]): number {
  const widths = columns.map((column) => Number.parseFloat(column.width.replace(/^minmax\(/, "")) + 1);
  return Math.ceil(widths.reduce((sum, width) => sum + width, 4));
}

const clamp = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value));
