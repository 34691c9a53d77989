/** Runs over time: figures with their intervals, where their level changed, and tasks that flip. */

import { useMemo } from "preact/hooks";
import type { HistorySeries } from "../api";
import { Chart, type Point } from "../chart";
import { count, exactDuration, interval, moment, percent, plural, score, visible } from "../format";
import { useLoad } from "../load";
import { Heading, useApi } from "../page";
import { Badge, Choice, Command, Facts, Notice, Section, Show } from "../parts";
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
          <div class="scroll" role="group" aria-label="Tasks that flip" tabIndex={0}>
            <table class="framed" aria-label="Tasks that flip">
              <thead>
                <tr>
                  <th scope="col">Task</th>
                  <th scope="col">Now</th>
                  <th scope="col" class="number">
                    Passed
                  </th>
                  <th scope="col" class="number">
                    Flips
                  </th>
                  <th scope="col">Last flip</th>
                </tr>
              </thead>
              <tbody>
                {series.flips.map((flip) => (
                  <tr key={flip.task}>
                    <th scope="row">{visible(flip.task)}</th>
                    <td>
                      <Badge status={flip.now} />
                    </td>
                    <td class="number">
                      {flip.passed} of {flip.runs}
                    </td>
                    <td class="number">{flip.flips}</td>
                    <td>
                      <a href={linkToRun(flip.last_flip)}>{visible(flip.last_flip)}</a>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
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
        <div class="scroll" role="group" aria-label={title} tabIndex={0}>
          <table aria-label={title}>
            <thead>
              <tr>
                <th scope="col" class="number">
                  No.
                </th>
                <th scope="col">Run</th>
                <th scope="col">Started</th>
                <th scope="col" class="number">
                  {title}
                </th>
                <th scope="col" class="number">
                  95% interval
                </th>
              </tr>
            </thead>
            <tbody>
              {known.map((run, i) => {
                const figure = run.figures[metric];
                const bounds = figure && figure.lower !== null && figure.upper !== null ? `${format(figure.lower)} to ${format(figure.upper)}` : interval(null, null);
                return (
                  <tr key={run.run}>
                    <td class="number">{i + 1}</td>
                    <td>
                      <a href={linkToRun(run.run)}>{visible(run.run)}</a>
                      {changes.includes(i) && <span class="tag">new level</span>}
                      {run.flaw && <span class="tag">{visible(run.flaw)}</span>}
                    </td>
                    <td>{moment(run.started)}</td>
                    <td class="number">{format(figure?.value ?? Number.NaN)}</td>
                    <td class="number">{bounds}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
