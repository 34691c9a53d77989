/** All runs: figures over them, and the list. */

import { useState } from "preact/hooks";
import type { RunSummary } from "../api";
import { download, toCsv } from "../csv";
import { ABSENT, cost, count, duration, grouped, percent, plural, score, visible } from "../format";
import { asError, useLoad, useSlices } from "../load";
import { Heading, useApi } from "../page";
import { Choice, Command, Drawn, Mark, Notice, Search, When, toneOf } from "../parts";
import { linkToRun, setQuery } from "../router";
import { type Column, VirtualTable } from "../table";

const seconds = (value: number | null) => (value === null ? ABSENT : duration(value * 1000));

const COLUMNS: readonly Column<RunSummary>[] = [
  { title: "Outcome", width: "4.5rem", cell: (run) => <OutcomeMark run={run} /> },
  {
    title: "Suite",
    width: "minmax(9rem, 3fr)",
    sort: "spec",
    narrow: "title",
    cell: (run) => (
      <>
        <a href={linkToRun(run.id)}>{visible(run.spec || run.id)}</a>
        {run.error && <small> {visible(run.error)}</small>}
        {run.part && <small> {visible(run.part)}</small>}
      </>
    ),
  },
  { title: "Model", width: "minmax(6rem, 2fr)", sort: "model", cell: (run) => <Model run={run} /> },
  {
    title: "Pass rate",
    width: "5.5rem",
    sort: "passRate",
    number: true,
    cell: (run) => <span class={`tone ${rateTone(run.successRate)}`}>{percent(run.successRate)}</span>,
  },
  { title: "W. score", width: "5rem", sort: "weightedScore", number: true, narrow: "hidden", cell: (run) => score(run.weightedScore) },
  { title: "Tasks", width: "4.5rem", sort: "tasks", number: true, cell: (run) => `${run.passCount}/${run.taskCount}` },
  { title: "Tokens", width: "4.5rem", sort: "tokens", number: true, narrow: "hidden", cell: (run) => count(run.tokens) },
  { title: "Credits", width: "4.5rem", number: true, narrow: "hidden", cell: (run) => count(run.aiCredits) },
  { title: "Cost", width: "4.5rem", sort: "cost", number: true, narrow: "hidden", cell: (run) => cost(run.cost) },
  { title: "Duration", width: "5rem", sort: "duration", number: true, narrow: "hidden", cell: (run) => seconds(run.duration) },
  { title: "When", width: "6rem", sort: "timestamp", number: true, cell: (run) => <When time={run.timestamp} /> },
];

/** Colours a pass rate, a share: from 80 % on it is good, below 50 % bad. */
export function rateTone(rate: number | null): string {
  if (rate === null) return "";
  return rate >= 0.8 ? "pass" : rate >= 0.5 ? "partial" : "fail";
}

export function OutcomeMark({ run }: { run: RunSummary }) {
  return <Mark status={run.outcome} />;
}

export function Model({ run }: { run: RunSummary }) {
  const judged = run.judgeModel && run.judgeModel !== run.model;
  return (
    <>
      {run.model ? visible(run.model) : <span class="quiet">(default)</span>}
      {judged && (
        <span role="img" aria-label={`judged by ${run.judgeModel}`} title={`judged by ${visible(run.judgeModel)}`}>
          {" "}
          ⚖
        </span>
      )}
    </>
  );
}

const OUTCOMES: readonly (readonly [string, string])[] = [
  ["", "Any outcome"],
  ...["passed", "failed", "not graded", "not decided", "in progress", "cut off", "unreadable"].map((one) => [one, one] as const),
];

export function RunsPage({ query }: { query: Record<string, string> }) {
  const api = useApi();
  const [by, descending] = [query.sort || "timestamp", query.order !== "asc"];
  const wanted = {
    q: query.q ?? "",
    filters: { outcome: query.outcome, model: query.model },
    sort: by,
    order: descending ? ("desc" as const) : ("asc" as const),
  };
  const rows = useSlices(JSON.stringify(wanted), (offset, limit) => api.runs({ ...wanted, offset, limit }));
  const filtered = Boolean(query.q || query.outcome || query.model);
  const models = [...new Set([query.model ?? "", ...rows.loaded().map((run) => run.model)])].filter(Boolean).sort();
  return (
    <>
      <div class="head">
        <div>
          <Heading title="Runs" />
        </div>
        <div class="actions">
          <CsvButton wanted={wanted} />
        </div>
      </div>
      <Drawn of={api.overview} />
      <Totals />
      <search class="filters" aria-label="Runs">
        <Search value={query.q ?? ""} change={(q) => setQuery({ q })} label="Search suites, models, skills, ids" />
        <Choice label="Outcome" value={query.outcome ?? ""} options={OUTCOMES} change={(outcome) => setQuery({ outcome })} />
        {models.length > 0 && (
          <Choice
            label="Model"
            value={query.model ?? ""}
            options={[["", "Any model"], ...models.map((model) => [model, model] as const)]}
            change={(model) => setQuery({ model })}
          />
        )}
        <output>{rows.total === undefined ? "" : plural(rows.total, "run")}</output>
      </search>
      <VirtualTable
        name="Runs"
        columns={COLUMNS}
        rows={rows}
        tone={(run) => (run.outcome === "passed" || run.outcome === "not graded" || run.outcome === "not decided" ? "" : toneOf(run.outcome))}
        sort={{ by, descending, change: (sort, down) => setQuery({ sort, order: down ? "" : "asc" }) }}
        empty={
          filtered ? (
            <Notice title="No run fits">
              <p>
                <button type="button" onClick={() => setQuery({ q: "", outcome: "", model: "" })}>
                  Show all runs
                </button>
              </p>
            </Notice>
          ) : (
            <NoRuns />
          )
        }
      />
    </>
  );
}

/** What to do where nothing has run yet. */
function NoRuns() {
  return (
    <Notice title="There are no runs here yet">
      <p>
        Runs are read from <code>.waza/runs</code> and from results files (<code>*.json</code>) below the directory that was given
        to <code>waza serve</code>.
      </p>
      <p>
        Start one: <Command>waza run eval.yaml</Command>
      </p>
      <p>
        Or show others: <Command>waza serve path/to/results</Command>
      </p>
    </Notice>
  );
}

function Totals() {
  const loaded = useLoad(useApi().summary, []);
  if (loaded.state !== "done") return null;
  const all = loaded.value;
  if (!all.totalRuns && !all.inProgress && !all.unreadable && !all.cutOff) return null;
  const beside = [
    all.inProgress && `${all.inProgress} in progress`,
    all.cutOff && `${all.cutOff} cut off`,
    all.unreadable && `${all.unreadable} unreadable`,
  ].filter(Boolean);
  const rate = all.totalTasks ? all.passRate / 100 : null;
  return (
    <dl class="cards">
      <Card name="Runs" value={grouped(all.totalRuns)} note={beside.join(", ")} />
      <Card name="Tasks" value={grouped(all.totalTasks)} />
      <Card name="Pass rate" value={percent(rate)} tone={rateTone(rate)} />
      <Card name="Average tokens" value={count(all.avgTokens)} />
      <Card name="Average credits" value={count(all.avgAICredits)} />
      <Card name="Average cost" value={cost(all.avgCost)} note={all.costSource ? `source: ${all.costSource}` : ""} />
      <Card name="Average duration" value={seconds(all.avgDuration)} />
    </dl>
  );
}

/** A figure with its name. */
export function Card({ name, value, note = "", tone = "" }: { name: string; value: string; note?: string; tone?: string }) {
  return (
    <div class={tone}>
      <dt>{name}</dt>
      <dd>
        {value}
        {note && <small>{visible(note)}</small>}
      </dd>
    </div>
  );
}

const HEAD = ["ID", "Spec", "Model", "Outcome", "Pass Count", "Task Count", "Pass Rate", "Tokens", "Cost", "Duration (s)", "Timestamp"];

function CsvButton({ wanted }: { wanted: Omit<Parameters<ReturnType<typeof useApi>["runs"]>[0], "offset" | "limit"> }) {
  const api = useApi();
  const save = async () => {
    const found: RunSummary[] = [];
    for (;;) {
      const { items, total } = await api.runs({ ...wanted, offset: found.length, limit: 500 });
      found.push(...items);
      if (!items.length || found.length >= total) break;
    }
    download("runs.csv", toCsv(HEAD, found.map(cells)));
  };
  return <SaveButton save={save}>CSV</SaveButton>;
}

const cells = (run: RunSummary) => [
  run.id,
  run.spec,
  run.model,
  run.outcome,
  run.passCount,
  run.taskCount,
  run.successRate,
  run.tokens,
  run.cost,
  run.duration,
  run.timestamp,
];

/** A button that saves a file; it says so if it cannot. */
export function SaveButton({ save, children }: { save: () => Promise<void>; children: string }) {
  const [state, set] = useState<"" | "busy" | string>("");
  const clicked = () => {
    set("busy");
    save().then(
      () => set(""),
      (error: unknown) => set(asError(error).message),
    );
  };
  return (
    <>
      <button type="button" onClick={clicked} disabled={state === "busy"} title="Save as a table for spreadsheets">
        {children}
      </button>
      {state !== "" && state !== "busy" && <span role="alert">{visible(state)}</span>}
    </>
  );
}

