/** Small parts that all pages are made of. */

import { type ComponentChildren, h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { NamedValue, PlotNode } from "./api";
import { ApiError } from "./data";
import { ABSENT, ago, moment, visible } from "./format";
import { type Span, pieces } from "./highlight";
import type { Loaded } from "./load";

const TONES: Record<string, string> = {
  passed: "pass",
  pass: "pass",
  complete: "pass",
  failed: "fail",
  fail: "fail",
  error: "error",
  skipped: "partial",
  "not graded": "partial",
  "not decided": "partial",
  "cut off": "partial",
  partial: "partial",
  running: "running",
  "in progress": "running",
  unreadable: "error",
};
export const MARKS: Record<string, string> = { pass: "✓", fail: "✗", error: "!", partial: "–", running: "…" };

/** The class that colours a status of a trial, task, item or run; none for words that are no status. */
export const toneOf = (status: string | undefined) => TONES[status ?? ""] ?? "";

/** A status: a mark, a word and a colour. */
export function Badge({ status }: { status: string }) {
  const tone = toneOf(status);
  return (
    <span class={`badge ${tone}`}>
      <span aria-hidden="true">{MARKS[tone] ?? ""} </span>
      {visible(status)}
    </span>
  );
}

/** The mark of a status alone, where there is no room for its word. */
export function Mark({ status, label = status }: { status: string; label?: string }) {
  const tone = toneOf(status);
  return (
    <span class={`mark ${tone}`} role="img" aria-label={label} title={label}>
      {MARKS[tone] ?? "·"}
    </span>
  );
}

/** Names and values in a line; those without a value are left out. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  const known = of.filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== ABSENT);
  return (
    <ul class="facts">
      {known.map(([name, value]) => (
        <li key={name}>
          {name} <b>{typeof value === "string" ? visible(value) : value}</b>
        </li>
      ))}
    </ul>
  );
}

/** A moment as people say it; the exact one is its title. */
export function When({ time }: { time: string | null | undefined }) {
  return time ? (
    <time dateTime={time} title={moment(time)}>
      {ago(time)}
    </time>
  ) : (
    <>{ABSENT}</>
  );
}

/** Names and values as `Facts` and `Pairs` take them. */
export const pairsOf = (values: readonly NamedValue[]) => values.map((one) => [one.name, one.value] as const);

/** Names and values as a table. */
export function Pairs({ of, name }: { of: readonly (readonly [string, ComponentChildren])[]; name: string }) {
  if (!of.length) return null;
  return (
    <table class="framed pairs" aria-label={name}>
      <tbody>
        {of.map(([title, value]) => (
          <tr key={title}>
            <th scope="row">{visible(title)}</th>
            <td>{typeof value === "string" ? visible(value) : value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A column of a `DataTable`. Texts in its cells are made visible. */
export interface DataColumn<T> {
  title: string;
  number?: boolean;
  /** The class of its cells. */
  class?: string | ((row: T) => string);
  cell: (row: T) => ComponentChildren;
}

interface DataTableProps<T> {
  name: string;
  columns: readonly DataColumn<T>[];
  rows: readonly T[];
  /** The class that colours a row. */
  tone?: (row: T) => string;
  /** The classes of the table. */
  kind?: string;
  /** It is scrolled by itself where the screen is narrower. */
  wide?: boolean;
}

/** A short table, of which all rows are drawn. The cells of its first column head their rows. */
export function DataTable<T>({ name, columns, rows, tone, kind = "framed", wide = false }: DataTableProps<T>) {
  const content = (column: DataColumn<T>, row: T) => {
    const found = column.cell(row);
    return typeof found === "string" ? visible(found) : found;
  };
  const classOf = (column: DataColumn<T>, row: T) => (typeof column.class === "function" ? column.class(row) : (column.class ?? (column.number ? "number" : "")));
  const table = (
    <table class={kind} aria-label={name}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" class={column.number ? "number" : ""}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i} class={tone?.(row)}>
            {columns.map((column, at) =>
              at ? (
                <td key={column.title} class={classOf(column, row)}>
                  {content(column, row)}
                </td>
              ) : (
                <th key={column.title} scope="row" class={classOf(column, row)}>
                  {content(column, row)}
                </th>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
  if (!wide) return table;
  return (
    <div class="scroll" role="group" aria-label={name} tabIndex={0}>
      {table}
    </div>
  );
}

/** A part of a page with its heading. Nothing is drawn where there is nothing to show. */
export function Section({ title, children, id, count }: { title: string; children: ComponentChildren; id?: string; count?: number }) {
  return (
    <section aria-label={title} id={id} class="section">
      <h2>
        {title}
        {count !== undefined && <span class="count"> {count}</span>}
      </h2>
      {children}
    </section>
  );
}

const FIRST = 4000; // characters of a text that are drawn until the reader asks for more
const MORE = 100_000; // and so many with each time that they ask: browsers are slow with millions

/** A text from elsewhere, as it is, with the parts marked that a verdict speaks of; a long one as far as the reader wants. */
export function Words({ text, spans = [] }: { text: string; spans?: readonly Span[] }) {
  const [most, show] = useState(FIRST);
  // What a verdict speaks of is drawn, wherever it is.
  const far = spans.reduce((end, span) => Math.max(end, span.end), 0);
  const end = Math.max(most, far && far + 400);
  const shown = text.length > end + 400 ? text.slice(0, end) : text;
  const rest = text.length - shown.length;
  return (
    <>
      {pieces(shown, spans).map((piece) =>
        piece.mark ? (
          <mark class={piece.mark} title={piece.note ? visible(piece.note) : undefined}>
            {visible(piece.text)}
          </mark>
        ) : (
          visible(piece.text)
        ),
      )}
      {rest > 0 && (
        <button type="button" class="more" onClick={() => show(end + MORE)}>
          Show {Math.min(rest, MORE).toLocaleString("en-US")} of {rest.toLocaleString("en-US")} more characters
        </button>
      )}
    </>
  );
}

/** A text in a box of its own. */
export function Text({ text, spans = [], label, kind = "well" }: { text: string; spans?: readonly Span[]; label?: string; kind?: string }) {
  if (!text) return <p class={`${kind} blank`}>blank</p>;
  return (
    <pre class={kind} {...(kind === "well" ? { tabIndex: 0, role: "group", "aria-label": label ?? "Text" } : {})}>
      <Words text={text} spans={spans} />
    </pre>
  );
}

/** What stands where there is nothing else: what it is, and what to do next. */
export function Notice({ title, children, kind = "empty" }: { title: string; children?: ComponentChildren; kind?: "empty" | "error" }) {
  return (
    <div class={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** What has been loaded; until then, or if it cannot be, a notice. */
export function Show<T>({ loaded, children }: { loaded: Loaded<T>; children: (value: T) => ComponentChildren }) {
  if (loaded.state === "done") return <>{children(loaded.value)}</>;
  if (loaded.state === "error") return <Failure error={loaded.error} />;
  return <Waiting />;
}

/** Says that something is on its way, unless it comes at once. */
export function Waiting() {
  const [late, set] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => set(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="quiet waiting" role="status">
      {late ? "Loading …" : ""}
    </p>
  );
}

/** Says that something could not be loaded, and lets the reader try again. */
export function Failure({ error }: { error: Error }) {
  return (
    <Notice title="This cannot be shown" kind="error">
      <p>{visible(error.message)}</p>
      {error instanceof ApiError && error.unreadable && <p>Mend the file or remove it, then load this page again.</p>}
      <p>
        <button type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </p>
    </Notice>
  );
}

/** A command to type. */
export function Command({ children }: { children: string }) {
  const [copied, set] = useState(false);
  const copy = () => {
    navigator.clipboard?.writeText(children).then(
      () => set(true),
      () => set(false), // the text can still be marked and copied by hand
    );
  };
  return (
    <span class="command">
      <code>{visible(children)}</code>
      <button type="button" class="quiet-button" onClick={copy} aria-label={`Copy ${children}`}>
        {copied ? "copied" : "copy"}
      </button>
    </span>
  );
}

/** A search field that changes the address once the reader pauses. */
export function Search({ value, change, label }: { value: string; change: (value: string) => void; label: string }) {
  const [typed, set] = useState(value);
  useEffect(() => set(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => change(typed), 150);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      type="search"
      data-search
      value={typed}
      placeholder={label}
      aria-label={label}
      autocomplete="off"
      onInput={(event) => set(event.currentTarget.value)}
    />
  );
}

/** A choice of one status, of those that there are; "" is no restriction. */
export function StatusChips({ counts, order, chosen = "", change }: {
  counts: Record<string, number>;
  order: readonly string[];
  chosen: string | undefined;
  change: (status: string) => void;
}) {
  return (
    <div class="chips" role="group" aria-label="Status">
      <button type="button" aria-pressed={!chosen} onClick={() => change("")}>
        all
      </button>
      {order
        .filter((status) => counts[status])
        .map((status) => (
          <button key={status} type="button" class={toneOf(status)} aria-pressed={chosen === status} onClick={() => change(status)}>
            {status} {counts[status]}
          </button>
        ))}
    </div>
  );
}

/** A choice among a few; "" is no restriction. */
export function Choice({ label, value, options, change }: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, shown: string])[];
  change: (value: string) => void;
}) {
  return (
    <select aria-label={label} value={value} onChange={(event) => change(event.currentTarget.value)}>
      {options.map(([one, shown]) => (
        <option key={one} value={one} selected={one === value}>
          {visible(shown)}
        </option>
      ))}
    </select>
  );
}

/** An interval between 0 and 1 with the value in it, drawn; the numbers stand beside it. */
export function Whisker({ value, lower, upper, tone = "" }: { value: number; lower?: number | null; upper?: number | null; tone?: string }) {
  const x = (share: number) => `${Math.max(0, Math.min(1, share)) * 100}%`;
  return (
    <svg class={`whisker ${tone}`} aria-hidden="true" width="100%" height="12">
      <line class="axis" x1="0" x2="100%" y1="6" y2="6" />
      {typeof lower === "number" && typeof upper === "number" && (
        <line class="span" x1={x(lower)} x2={x(upper)} y1="6" y2="6" />
      )}
      <circle cx={x(value)} cy="6" r="4" />
    </svg>
  );
}

// What plots are made of; of anything else, and of attributes that could do something, nothing is drawn.
const DRAWN = new Set(["b", "circle", "desc", "div", "figcaption", "figure", "g", "li", "line", "ol", "p", "rect", "span", "svg", "text", "title"]);
const INERT = /^(on|href|src|xlink|style$)/i;

/** A plot that the server drew. */
export function Plot({ node }: { node: PlotNode | string }): ComponentChildren {
  if (typeof node === "string") return node;
  if (!DRAWN.has(node.tag)) return null;
  const inert = Object.entries(node.attributes).filter(([name]) => !INERT.test(name));
  const widest = /^--widest:(\d+px)$/.exec(node.attributes.style ?? "")?.[1];
  const style = widest ? { style: { "--widest": widest } } : {};
  return h(
    node.tag,
    { ...Object.fromEntries(inert), ...style },
    node.children.map((child, i) => <Plot key={i} node={child} />),
  );
}

/** Elements that came with the page, such as plots. */
export function Drawn({ of }: { of: readonly Element[] }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.replaceChildren(...of);
    return () => place.current?.replaceChildren();
  }, [of]);
  return of.length ? <div class="section" ref={place} /> : null;
}
