/** Runs over time: figures with their intervals, where their level changed, and tasks that flip. */

import { useMemo } from "preact/hooks";
import type { HistorySeries } from "../api";
import { Chart, type Point } from "../chart";
import { ABSENT, count, exactDuration, moment, percent, plural, score, visible } from "../format";
import { useLoad } from "../load";
import { Heading, useApi } from "../page";
import { Badge, Choice, Command, DataTable, Facts, Notice, Section, Show } from "../parts";
import { go, linkToRun, setQuery } from "../router";

type Metric = HistorySeries["changes"][number]["metric"];

const METRICS: readonly (readonly [Metric, title: string, format: (value: number) => string])[] = [
  ["graded_success_rate", "Success rate", percent],
  ["score", "Score", score],
  ["duration_ms", "Duration of a trial", exactDuration],
  ["tokens", "Tokens of a trial", count],
  ["ai_credits", "AI credits of a trial", count],
  ["premium_requests", "Premium requests of a trial", count],
];

export function TrendsPage({ query }: { query: Record<string, string> }) {
  const loaded = useLoad(useApi().history, []);
  return (
    <>
      <Heading title="Trends" />
      <Show loaded={loaded}>
        {({ series, scoreNote }) => {
          const some = series.filter((one) => one.runs.length);
          if (!some.length)
            return (
              <Notice title="There are no runs to follow yet">
                <p>
                  Every saved run of a suite becomes a point here: <Command>waza run eval.yaml</Command>
                </p>
              </Notice>
            );
          const fits = some.filter((one) => !query.model || one.model === query.model);
          const index = fits.findIndex((one) => one.suite === query.suite && (!query.path || one.path === query.path));
          const chosen = fits[Math.max(0, index)] ?? some[0];
          if (!chosen) return null;
          const models = [...new Set(some.map((one) => one.model))];
          return (
            <>
              <div class="filters">
                <Choice
                  label="Model"
                  value={query.model ?? ""}
                  options={[["", "Any model"], ...models.filter(Boolean).map((model) => [model, model] as const)]}
                  change={(model) => setQuery({ model })}
                />
                <Choice
                  label="Suite"
                  value={keyOf(chosen)}
                  options={fits.map((one) => [keyOf(one), `${one.suite} on ${one.model || "(default)"} (${plural(one.runs.length, "run")})`] as const)}
                  change={(key) => {
                    const found = fits.find((one) => keyOf(one) === key);
                    if (found) setQuery({ suite: found.suite, path: found.path, model: query.model || found.model });
                  }}
                />
              </div>
              <Series key={keyOf(chosen)} series={chosen} scoreNote={scoreNote} />
            </>
          );
        }}
      </Show>
    </>
  );
}

const keyOf = (series: HistorySeries) => JSON.stringify([series.suite, series.path, series.model]);

function Series({ series, scoreNote }: { series: HistorySeries; scoreNote: string }) {
  const flawed = series.runs.filter((run) => run.flaw);
  return (
    <>
      <Facts
        of={[
          ["Suite", series.suite],
          ["File", series.path === series.suite ? "" : series.path],
          ["Skill", series.skill],
          ["Model", series.model || "(default)"],
          ["Runs", plural(series.runs.length, "run")],
          ["Left out", series.older ? plural(series.older, "older run") : ""],
        ]}
      />
      {series.changes.length > 0 && (
        <Section title="Changes of level" count={series.changes.length}>
          <ul class="why">
            {series.changes.map((change, i) => {
              const [, title, format] = METRICS.find(([metric]) => metric === change.metric) ?? ["", change.metric, score];
              return (
                <li key={i} class="panel partial">
                  <b>{title}</b> {format(change.before)} → {format(change.after)} since <a href={linkToRun(change.run)}>{visible(change.run)}</a>
                  {change.commit && <span class="quiet"> at {visible(change.commit.slice(0, 12))}</span>}
                  <span class="quiet"> by chance in {percent(change.p_value)} of cases</span>
                  {(change.new_tasks > 0 || change.gone_tasks > 0) && (
                    <span class="quiet">
                      ; {plural(change.new_tasks, "new task")}, {change.gone_tasks} gone
                    </span>
                  )}
                </li>
              );
            })}
          </ul>
        </Section>
      )}
      <Section title="Figures">
        <div class="charts">
          {METRICS.map(([metric, title, format]) => (
            <Figure key={metric} metric={metric} title={title} format={format} series={series} note={metric === "score" ? scoreNote : ""} />
          ))}
        </div>
        {flawed.length > 0 && (
          <p class="quiet">
            A hollow point is a run that did not measure all of its tasks: its figures are of other tasks, and the line passes it by.
          </p>
        )}
      </Section>
      {series.flips.length > 0 && (
        <Section title="Tasks that flip" count={series.flips.length}>
          <DataTable
            name="Tasks that flip"
            wide
            rows={series.flips}
            columns={[
              { title: "Task", cell: (flip) => flip.task },
              { title: "Now", cell: (flip) => <Badge status={flip.now} /> },
              { title: "Passed", number: true, cell: (flip) => `${flip.passed} of ${flip.runs}` },
              { title: "Flips", number: true, cell: (flip) => String(flip.flips) },
              { title: "Last flip", cell: (flip) => <a href={linkToRun(flip.last_flip)}>{visible(flip.last_flip)}</a> },
            ]}
          />
        </Section>
      )}
      {flawed.length > 0 && (
        <Section title="Left out of changes and flips" count={flawed.length}>
          <ul>
            {flawed.map((run) => (
              <li key={run.run}>
                <a href={linkToRun(run.run)}>{visible(run.run)}</a> {moment(run.started)}: {visible(run.flaw)}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

interface FigureProps {
  metric: Metric;
  title: string;
  format: (value: number) => string;
  series: HistorySeries;
  note: string;
}

function Figure({ metric, title, format, series, note }: FigureProps) {
  const known = useMemo(() => series.runs.filter((run) => run.figures[metric]), [series]);
  const points = useMemo<Point[]>(
    () =>
      known.map((run) => ({
        time: Date.parse(run.started),
        value: run.figures[metric]?.value ?? null,
        lower: run.figures[metric]?.lower ?? null,
        upper: run.figures[metric]?.upper ?? null,
        partial: Boolean(run.flaw),
      })),
    [known],
  );
  const changes = useMemo(
    () =>
      series.changes
        .filter((change) => change.metric === metric)
        .map((change) => known.findIndex((run) => run.run === change.run))
        .filter((index) => index >= 0),
    [known],
  );
  if (!known.length) return null;
  const last = points.at(-1);
  return (
    <figure class="chart">
      <h3>
        {title} <span class="quiet">last {format(last?.value ?? Number.NaN)}{note && `, ${note}`}</span> {last?.partial && <span class="tag">not all tasks measured</span>}
      </h3>
      <Chart
        title={title}
        points={points}
        format={format}
        changes={changes}
        open={(index) => {
          const run = known[index];
          if (run) go(linkToRun(run.run));
        }}
      />
      <details>
        <summary>As a table</summary>
        <DataTable
          name={title}
          kind=""
          wide
          rows={known.map((run, i) => ({ run, number: i + 1, figure: run.figures[metric] }))}
          columns={[
            { title: "No.", number: true, cell: ({ number }) => String(number) },
            {
              title: "Run",
              cell: ({ run, number }) => (
                <>
                  <a href={linkToRun(run.run)}>{visible(run.run)}</a>
                  {changes.includes(number - 1) && <span class="tag">new level</span>}
                  {run.flaw && <span class="tag">{visible(run.flaw)}</span>}
                </>
              ),
            },
            { title: "Started", cell: ({ run }) => moment(run.started) },
            { title, number: true, cell: ({ figure }) => format(figure?.value ?? Number.NaN) },
            {
              title: "95% interval",
              number: true,
              cell: ({ figure }) =>
                figure && figure.lower !== null && figure.upper !== null ? `${format(figure.lower)} to ${format(figure.upper)}` : ABSENT,
            },
          ]}
        />
      </details>
    </figure>
  );
}
