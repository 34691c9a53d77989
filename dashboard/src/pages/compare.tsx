/** Two runs side by side: the difference with its interval first, then what it means, then the tasks. */

import { useEffect, useState } from "preact/hooks";
import type { Comparison, ComparisonPage, MetricComparison, RunSummary, Step, TaskDelta, TrialLink, TrialDetail } from "../api";
import { align } from "../diff";
import { ABSENT, moment, percent, plain, score, signed, signedDuration, visible } from "../format";
import { type Slices, useLoad, useSlices } from "../load";
import { Crumbs, Heading, useApi } from "../page";
import { Badge, type DataColumn, DataTable, Mark, Notice, Section, Show, Text, toneOf } from "../parts";
import { link, linkToRun, linkToTrial, setQuery } from "../router";
import { type Column, VirtualTable } from "../table";
import { outcomeOf, statusOf } from "./conversation";
import { Model, OutcomeMark, rateTone } from "./runs";

export function ComparePage({ query }: { query: Record<string, string> }) {
  const { a = "", b = "", task, trial } = query;
  if (a && b && task) return <TrialDiff key={task} a={a} b={b} task={task} trial={Number(trial) || 1} />;
  return (
    <>
      <Heading title="Compare" />
      <div class="sides pick">
        <Picker label="A, to compare with" value={a} change={(id) => setQuery({ a: id })} />
        <Picker label="B, which is compared" value={b} change={(id) => setQuery({ b: id })} />
      </div>
      {a && b ? (
        <Runs key={`${a} ${b}`} a={a} b={b} />
      ) : (
        <Notice title="Choose two runs">
          <p>
            The difference is that of B from A. Fields find runs by suite, model, skill or id; the newest are offered first.
          </p>
        </Notice>
      )}
    </>
  );
}

/** A field that finds a run by what is typed. */
function Picker({ label, value, change }: { label: string; value: string; change: (id: string) => void }) {
  const api = useApi();
  const [typed, type] = useState(value);
  const [offered, offer] = useState<RunSummary[]>([]);
  useEffect(() => type(value), [value]);
  useEffect(() => {
    let current = true;
    const q = offered.some((run) => run.id === typed) ? "" : typed;
    const timer = setTimeout(
      () => api.runs({ offset: 0, limit: 50, q }).then((found) => current && offer(found.items), () => undefined),
      typed ? 150 : 0,
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [typed]);
  const list = `runs-${label.charAt(0)}`;
  return (
    <div>
      <label>
        <span class="quiet">{label}</span>
        <input
          list={list}
          data-search={value ? undefined : ""}
          value={typed}
          placeholder="Suite, model or id of a run"
          autocomplete="off"
          onInput={(event) => {
            type(event.currentTarget.value);
            if (offered.some((run) => run.id === event.currentTarget.value)) change(event.currentTarget.value);
          }}
          onChange={(event) => change(event.currentTarget.value.trim())}
        />
      </label>
      <datalist id={list}>
        {offered.map((run) => (
          <option key={run.id} value={run.id}>
            {visible(`${run.spec} on ${run.model || "(default)"}, ${moment(run.timestamp)}`)}
          </option>
        ))}
      </datalist>
    </div>
  );
}

interface Row {
  delta: TaskDelta;
  trials: readonly TrialLink[];
}

function Runs({ a, b }: { a: string; b: string }) {
  const api = useApi();
  const loaded = useLoad(() => api.compare(a, b, 0, 1), [a, b]);
  const rows = useSlices<Row>(`${a} ${b}`, async (offset, limit) => {
    const page = await api.compare(a, b, offset, limit);
    return {
      total: page.totalTasks,
      items: page.comparison.task_deltas.map((delta) => ({ delta, trials: page.trials[delta.task_id] ?? [] })),
    };
  });
  return (
    <Show loaded={loaded}>
      {(page) => (
        <>
          <div class="sides">
            <RunCard side="A" run={page.a} />
            <RunCard side="B" run={page.b} />
          </div>
          <Conclusion page={page} />
          <Tasks a={a} b={b} rows={rows} />
        </>
      )}
    </Show>
  );
}

function RunCard({ side, run }: { side: string; run: RunSummary }) {
  return (
    <div class="side">
      <p>
        <b>{side}</b> <OutcomeMark run={run} /> <a href={linkToRun(run.id)}>{visible(run.spec || run.id)}</a>
      </p>
      <p class="quiet">
        <Model run={run} />, {moment(run.timestamp)}
      </p>
      <div class={`rate ${rateTone(run.successRate)}`}>
        <span class="bar" aria-hidden="true">
          <i style={{ flex: run.successRate ?? 0 }} />
          <span style={{ flex: 1 - (run.successRate ?? 0) }} />
        </span>
        <b>{percent(run.successRate)}</b> <span class="quiet">passed, {run.passCount} of {run.taskCount}; score {score(run.score)}</span>
      </div>
    </div>
  );
}

function Conclusion({ page }: { page: ComparisonPage }) {
  const { comparison } = page;
  const found = comparison.comparison;
  return (
    <>
      {page.doubts.length > 0 && (
        <Section title="Read with care">
          <ul class="warnings">
            {page.doubts.map((doubt) => (
              <li key={doubt}>{visible(doubt)}</li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="B against A">
        {found ? (
          <>
            <Difference found={found} />
            <p class="sentence">{visible(found.sentence)}</p>
            <Metrics found={found} />
          </>
        ) : (
          <p>The two have no task in common, so there is nothing to compare.</p>
        )}
        <p class="quiet">
          {comparison.success_rate_delta === null ? (
            "No difference is shown: what was measured is not what the runs claim."
          ) : (
            <>
              Success rate {signed(comparison.success_rate_delta * 100, 1)} points, mean score {signed(comparison.aggregate_score_delta)}, duration{" "}
              {signedDuration(comparison.duration_delta_ms)}. {visible(page.aggregateNote)}
            </>
          )}
        </p>
      </Section>
    </>
  );
}

/** Whether an interval speaks for B, for A, or for neither. */
function leaning(bounds: { lower: number; upper: number } | null, better: 1 | -1): string {
  if (!bounds || (bounds.lower <= 0 && bounds.upper >= 0)) return "";
  return bounds.lower > 0 === better > 0 ? "pass" : "fail";
}

function Difference({ found }: { found: Comparison }) {
  const { interval, mean_difference: mean } = found;
  const x = (value: number) => `${50 + 50 * Math.max(-1, Math.min(1, value))}%`;
  return (
    <div class={`panel difference ${leaning(interval, 1)}`}>
      <p>
        <b class="figure">{signed(mean)}</b>{" "}
        {interval ? (
          <>
            {Math.round(interval.level * 100)}% interval <b>{signed(interval.lower)}</b> to <b>{signed(interval.upper)}</b>
          </>
        ) : (
          <span class="quiet">no interval: {found.n ? "there is too little data" : "nothing was compared"}</span>
        )}{" "}
        <span class="quiet">in {found.metric.replaceAll("_", " ")}, on a scale of −1 to +1</span>
      </p>
      <svg class="whisker wide" aria-hidden="true" width="100%" height="18">
        <line class="axis" x1="0" x2="100%" y1="9" y2="9" />
        <line class="axis" x1="50%" x2="50%" y1="2" y2="16" />
        {interval && <line class="span" x1={x(interval.lower)} x2={x(interval.upper)} y1="9" y2="9" />}
        {mean !== null && <circle cx={x(mean)} cy="9" r="5" />}
      </svg>
      <p class="quiet">
        {found.wins} better, {found.losses} worse, {found.ties} equal of {found.n} {found.unit}
        {found.n === 1 ? "" : "s"}
        {found.alone.a > 0 && `; ${found.alone.a} only in A`}
        {found.alone.b > 0 && `; ${found.alone.b} only in B`}
        {found.unmeasured.a + found.unmeasured.b > 0 && `; ${found.unmeasured.a + found.unmeasured.b} without a measurement`}
      </p>
    </div>
  );
}

const NAMES: Record<string, string> = { pass_rate: "trial pass rate", duration_ms: "duration" };
const SHOWN: Record<string, (value: number | null) => string> = {
  pass_rate: (value) => (value === null ? ABSENT : `${signed(100 * Math.max(-1, Math.min(1, value)), 1)} points`),
  duration_ms: signedDuration,
};

function Metrics({ found }: { found: Comparison }) {
  const metrics = Object.values(found.metrics).filter((one) => one.n > 0);
  if (!metrics.length) return null;
  const show = (metric: MetricComparison, value: number | null | undefined) =>
    (SHOWN[metric.metric] ?? ((one: number | null) => signed(one)))(value ?? null);
  return (
    <DataTable
      name="Metrics"
      kind="framed metrics"
      wide
      rows={metrics}
      columns={[
        { title: "Metric", cell: (metric) => NAMES[metric.metric] ?? metric.metric.replaceAll("_", " ") },
        { title: "Difference", number: true, cell: (metric) => show(metric, metric.mean_difference) },
        {
          title: "Interval",
          number: true,
          cell: (metric) =>
            metric.interval ? `${show(metric, metric.interval.lower)} to ${show(metric, metric.interval.upper)}` : ABSENT,
        },
        { title: "What can be said", cell: (metric) => metric.sentence },
      ]}
    />
  );
}

function columns(a: string, b: string): Column<Row>[] {
  return [
    {
      title: "Task",
      width: "minmax(9rem, 4fr)",
      narrow: "title",
      cell: ({ delta, trials }) => {
        const first = trials[0];
        const name = visible(delta.display_name || delta.task_id);
        return first ? <a href={link(["compare"], { a, b, task: delta.task_id, trial: first.number })}>{name}</a> : <b tabIndex={-1}>{name}</b>;
      },
    },
    ...(["A", "B"] as const).flatMap((side, i): Column<Row>[] => [
      {
        title: `Outcome ${side}`,
        width: "6rem",
        cell: ({ delta }) => (delta.statuses[i] ? <Mark status={delta.statuses[i] ?? ""} /> : <span class="quiet">{ABSENT}</span>),
      },
      { title: `Score ${side}`, width: "5rem", number: true, cell: ({ delta }) => score(delta.scores[i]) },
    ]),
    {
      title: "Δ score",
      width: "5rem",
      number: true,
      cell: ({ delta }) => <b class={`tone ${tone(delta)}`}>{signed(delta.score_delta)}</b>,
    },
    {
      title: "Δ pass rate",
      width: "6rem",
      number: true,
      narrow: "hidden",
      cell: ({ delta }) => (delta.pass_rate_delta === null ? ABSENT : `${signed(delta.pass_rate_delta * 100, 0)}%`),
    },
  ];
}

/** A task that broke on one side is neither better nor worse. */
function tone({ score_delta: by, statuses }: TaskDelta): string {
  if (statuses.includes("error")) return "error";
  return by === null || by === 0 ? "" : by > 0 ? "pass" : "fail";
}

function Tasks({ a, b, rows }: { a: string; b: string; rows: Slices<Row> }) {
  return (
    <Section title="Tasks" {...(rows.total === undefined ? {} : { count: rows.total })}>
      <VirtualTable name="Tasks of both runs" columns={columns(a, b)} rows={rows} tone={({ delta }) => tone(delta)} />
    </Section>
  );
}

/** The same trial of two runs, step beside step. */
function TrialDiff({ a, b, task, trial }: { a: string; b: string; task: string; trial: number }) {
  const api = useApi();
  const loaded = useLoad(() => api.compareTrial(a, b, task, trial), [a, b, task, trial]);
  return (
    <>
      <Crumbs of={[["Compare", link(["compare"], { a, b })]]} />
      <Heading title={task}>
        <span class="quiet">trial {trial}</span>
      </Heading>
      <Show loaded={loaded}>
        {({ a: first, b: second }) => (
          <>
            <div class="sides">
              <TrialCard side="A" trial={first} />
              <TrialCard side="B" trial={second} />
            </div>
            <Checks a={first} b={second} />
            <Section title="Conversation">
              <Trajectories a={first} b={second} />
            </Section>
          </>
        )}
      </Show>
    </>
  );
}

function TrialCard({ side, trial }: { side: string; trial: TrialDetail | null }) {
  if (!trial) return <div class="side gap">{side} does not have this trial.</div>;
  return (
    <div class="side">
      <p>
        <b>{side}</b> <Badge status={trial.status} /> <a href={linkToTrial(trial.run, trial.task, trial.number, trial.arm)}>{visible(trial.spec)}</a>
      </p>
      <p class="quiet">
        {visible(trial.model)}, score {score(trial.score)}
      </p>
      {trial.cause && <p class="feedback">{visible(trial.cause)}</p>}
    </div>
  );
}

function Checks({ a, b }: { a: TrialDetail | null; b: TrialDetail | null }) {
  const labels = [...new Set([...(a?.checks ?? []), ...(b?.checks ?? [])].map((check) => check.label))];
  if (!labels.length) return null;
  const checkOf = (trial: TrialDetail | null, label: string) => trial?.checks.find((one) => one.label === label);
  const side = (title: string, trial: TrialDetail | null): DataColumn<string> => ({
    title,
    class: (label) => {
      const check = checkOf(trial, label);
      return check ? (check.passed ? "pass" : "fail") : "quiet";
    },
    cell: (label) => {
      const check = checkOf(trial, label);
      if (!check) return ABSENT;
      return (
        <>
          <span class="result">
            {check.passed ? "passed" : "failed"} {score(check.score)}
          </span>{" "}
          {!check.passed && visible(check.feedback)}
        </>
      );
    },
  });
  return (
    <Section title="Verdicts">
      <DataTable name="Verdicts" rows={labels} columns={[{ title: "Grader", cell: (label) => label }, side("A", a), side("B", b)]} />
    </Section>
  );
}

/** A prompt or a step of a conversation. */
type Item = { kind: "prompt"; text: string } | Step;

const itemsOf = (trial: TrialDetail | null): Item[] =>
  (trial?.turns ?? []).flatMap((turn) => [{ kind: "prompt" as const, text: turn.prompt ?? "" }, ...turn.steps]);

const contentOf = (item: Item): string =>
  item.kind === "call" && item.call ? `${item.call.name} ${plain(item.call.arguments)}\n${item.call.result}` : item.text;

const sortOf = (item: Item): string => (item.kind === "call" ? `call ${item.call?.name}` : item.kind);

function Trajectories({ a, b }: { a: TrialDetail | null; b: TrialDetail | null }) {
  const rows = align(itemsOf(a), itemsOf(b), (item) => `${item.kind} ${contentOf(item)}`, sortOf);
  if (!rows.length) return <p class="quiet">Nothing is recorded.</p>;
  return (
    <ol class="steps-side">
      {rows.map((row, i) => (
        <li key={i} class="sides" data-step tabIndex={-1} aria-label={row.same ? "equal in both" : "different"}>
          <Side item={row.a} differs={!row.same} />
          <Side item={row.b} differs={!row.same} />
        </li>
      ))}
    </ol>
  );
}

const WHO: Record<Item["kind"], string> = {
  prompt: "User",
  message: "Agent",
  call: "Tool call",
  skill: "Skill loaded",
  failure: "The turn broke",
  details: "Platform",
};

function Side({ item, differs }: { item: Item | undefined; differs: boolean }) {
  if (!item) return <div class="side gap">—</div>;
  const call = item.kind === "call" ? item.call : null;
  return (
    <div class={`side ${differs ? "differs" : ""}`}>
      <p class="who">
        {WHO[item.kind]} {call && <span class={`tone ${toneOf(statusOf(call))}`}>{outcomeOf(call)}</span>}
      </p>
      {call ? (
        <>
          <code>
            <b>{visible(call.name)}</b> {visible(plain(call.arguments))}
          </code>
          {call.result && <Text text={call.result} label={`Result of ${call.name}`} />}
        </>
      ) : (
        <Text text={item.text} kind="words" label={WHO[item.kind]} />
      )}
    </div>
  );
}

