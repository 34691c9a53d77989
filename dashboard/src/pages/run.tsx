/** A run: its verdict and why, then its tasks, what failed first. */

import type { CountTable, NamedValue, RunHead, TaskSummary, TrialMark } from "../api";
import { download, toCsv } from "../csv";
import { ABSENT, count, duration, interval, moment, percent, plural, score, visible } from "../format";
import { useLoad, useSlices } from "../load";
import { Crumbs, Heading, useApi } from "../page";
import { Choice, Command, DataTable, Drawn, Facts, MARKS, Mark, Notice, Pairs, Plot, Search, Section, Show, StatusChips, Whisker, pairsOf, toneOf } from "../parts";
import { link, linkToRun, linkToTrial, setQuery } from "../router";
import { type Column, VirtualTable } from "../table";
import { Card, SaveButton } from "./runs";

export function RunPage({ id, query }: { id: string; query: Record<string, string> }) {
  const api = useApi();
  const loaded = useLoad(() => api.head(id), [id]);
  return (
    <>
      <Crumbs of={[["Runs", link([])]]} />
      <Show loaded={loaded}>{(head) => <Run head={head} query={query} />}</Show>
      {loaded.state === "error" && <Heading title="Run" />}
    </>
  );
}

function Run({ head, query }: { head: RunHead; query: Record<string, string> }) {
  const { run, verdict, counts } = head;
  const api = useApi();
  const tabs = { figures: true, plots: api.served || api.plots(run.id).length > 0, requirements: head.requirements.length > 0 };
  const tab = tabs[query.tab as keyof typeof tabs] ? query.tab : "";
  return (
    <>
      <div class="head">
        <div>
          <Heading title={run.spec || run.id} window={`${run.spec || run.id}: ${verdict.word}`} />
          <HeadFacts head={head} />
        </div>
        <Actions head={head} />
      </div>
      <p class={`headline ${toneOf(run.outcome)}`}>
        <span aria-hidden="true">{MARKS[toneOf(run.outcome)]}</span> {verdict.word.charAt(0).toUpperCase() + verdict.word.slice(1)}
      </p>
      {verdict.reasons.length > 0 && (
        <ul class={`reasons ${toneOf(run.outcome)}`}>
          {verdict.reasons.map((reason) => (
            <li key={reason}>{visible(reason)}</li>
          ))}
        </ul>
      )}
      {head.state && (
        <Notice title={head.inProgress ? "This run is in progress" : "This run has no results"}>
          <p>{visible(head.state)}</p>
          {head.inProgress && (
            <p>
              <a href={link(["live"], { run: run.id })}>Watch it</a>
            </p>
          )}
        </Notice>
      )}
      {run.error && (
        <Notice title="Its file cannot be read" kind="error">
          <p>{visible(run.error)}</p>
          <p>Mend or remove {run.path ? <code>{visible(run.path)}</code> : "the file"}, then load this page again.</p>
        </Notice>
      )}
      <Bar counts={counts} />
      <dl class="cards">
        <Card name="Tasks passed" value={`${run.passCount} of ${run.taskCount}`} note={rest(counts)} />
        <Card
          name="Success rate"
          value={percent(run.successRate)}
          note={head.successRateInterval ? `95% interval ${range(head.successRateInterval)}` : ""}
        />
        <Card
          name="Weighted score"
          value={score(run.weightedScore)}
          note={[head.scoreInterval && `95% interval ${interval(head.scoreInterval.lower, head.scoreInterval.upper)}`, head.scoreNote].filter(Boolean).join("; ")}
        />
        <Card name="Duration" value={run.duration === null ? ABSENT : duration(run.duration * 1000)} />
        <Card name="Tokens" value={count(run.tokens)} />
        {run.aiCredits !== null && <Card name="AI credits" value={count(run.aiCredits)} />}
      </dl>
      {head.warnings.length > 0 && (
        <Section title="Warnings" count={head.warnings.length}>
          <Lines of={head.warnings} name="warnings" />
        </Section>
      )}
      {head.notStarted.length > 0 && (
        <Section title="Not started">
          <Pairs name="Not started" of={pairsOf(head.notStarted)} />
        </Section>
      )}
      <nav class="tabs" aria-label="Parts of the run">
        <a href={linkToRun(run.id)} aria-current={tab ? undefined : "page"}>
          Tasks
        </a>
        {tabs.plots && (
          <a href={linkToRun(run.id, { tab: "plots" })} aria-current={tab === "plots" ? "page" : undefined}>
            Plots
          </a>
        )}
        {tabs.requirements && (
          <a href={linkToRun(run.id, { tab: "requirements" })} aria-current={tab === "requirements" ? "page" : undefined}>
            Requirements
          </a>
        )}
        <a href={linkToRun(run.id, { tab: "figures" })} aria-current={tab === "figures" ? "page" : undefined}>
          Figures and settings
        </a>
      </nav>
      {tab === "figures" ? (
        <Figures head={head} />
      ) : tab === "requirements" ? (
        <Requirements head={head} />
      ) : tab ? (
        <Plots run={run.id} />
      ) : (
        <Tasks head={head} query={query} />
      )}
    </>
  );
}

/** The plots of a run: those that came with the page, else those that its server draws. */
function Plots({ run }: { run: string }) {
  const api = useApi();
  const own = api.plots(run);
  const loaded = useLoad(() => api.drawings(run), [run]);
  if (own.length) return <Drawn of={own} />;
  return (
    <Show loaded={loaded}>
      {(plots) =>
        plots.length ? (
          <div class="section">
            {plots.map((plot, i) => (
              <Plot key={i} node={plot} />
            ))}
          </div>
        ) : (
          <Notice title="There is nothing to draw">
            <p>Plots are of two trials or more.</p>
          </Notice>
        )
      }
    </Show>
  );
}

const range = (found: { lower: number; upper: number }) => `${percent(found.lower)} to ${percent(found.upper)}`;

function rest(counts: RunHead["counts"]): string {
  return [
    [counts.failed, "failed"],
    [counts.error, counts.error === 1 ? "error" : "errors"],
    [counts.skipped, "skipped"],
    [counts.cutOff, "cut off"],
    [counts.inProgress, "in progress"],
    [counts.notStarted, "not started"],
  ]
    .filter(([number]) => number)
    .map(([number, word]) => `${number} ${word}`)
    .join(", ");
}

function HeadFacts({ head }: { head: RunHead }) {
  const { run, git, ci } = head;
  const commit = git?.commit ? `${git.commit.slice(0, 12)}${git.dirty ? " (changed)" : ""}` : "";
  return (
    <Facts
      of={[
        ["Skill", run.skill],
        ["Model", run.model || "(default)"],
        ["Judge", run.judgeModel],
        ["Engine", run.engine],
        ["Started", moment(run.timestamp)],
        ["Run", run.id],
        ["Commit", commit],
        ["Branch", git?.branch],
        ["CI", ci ? <CiLink name={[ci.name, ci.job].filter(Boolean).join(" ")} url={ci.url} /> : ""],
      ]}
    />
  );
}

/** A link to a job; its address is from a file, so only addresses of the web are followed. */
function CiLink({ name, url }: { name: string; url: string }) {
  if (!/^https?:\/\//i.test(url)) return <>{visible(name || url)}</>;
  return (
    <a href={url} rel="noreferrer noopener" target="_blank">
      {visible(name || url)}
    </a>
  );
}

function Actions({ head }: { head: RunHead }) {
  const api = useApi();
  const save = async () => {
    const found = await api.verdicts(head.run.id);
    const rows = found.flatMap((task) => {
      const own = [task.task, task.outcome, task.score, task.duration];
      if (!task.verdicts.length) return [[...own, "", "", "", "", ""]];
      return task.verdicts.map((one) => [...own, one.name, one.type, one.passed, one.score, one.message]);
    });
    download(`${head.run.spec || head.run.id}.csv`, toCsv(HEAD, rows));
  };
  return (
    <div class="actions">
      {api.served && <a href={link(["compare"], { a: head.before || undefined, b: head.run.id })}>Compare</a>}
      {api.served && <a href={link(["trends"], { suite: head.run.spec, model: head.run.model })}>Trend</a>}
      <SaveButton save={save}>CSV</SaveButton>
    </div>
  );
}

const HEAD = ["Task", "Outcome", "Score", "Duration (s)", "Grader", "Grader Type", "Grader Passed", "Grader Score", "Grader Message"];

function Bar({ counts }: { counts: RunHead["counts"] }) {
  const parts = [
    ["pass", counts.passed],
    ["fail", counts.failed],
    ["error", counts.error],
    ["partial", counts.skipped + counts.cutOff],
    ["running", counts.inProgress],
    ["", counts.notStarted],
  ] as const;
  return (
    <div class="bar" aria-hidden="true">
      {parts.map(([tone, number]) => number > 0 && <i key={tone} class={tone} style={{ flex: number }} />)}
    </div>
  );
}

function Lines({ of, name = "" }: { of: readonly string[]; name?: string }) {
  return (
    <ul class={name}>
      {of.map((line, i) => (
        <li key={i}>{visible(line)}</li>
      ))}
    </ul>
  );
}

const MARKS_WIDTH = 11.5; // rem; six trials, also of both arms

/** How many of these labels fit into a row, with the number of the others behind them. */
function fitting(labels: readonly string[]): number {
  const widths = labels.map((label) => Math.max(1.5, 0.55 + 0.6 * label.length) + 0.2);
  const total = widths.reduce((sum, width) => sum + width, 0);
  if (total <= MARKS_WIDTH) return labels.length;
  let room = MARKS_WIDTH - 2.5; // what "+9999" takes
  return widths.findIndex((width) => (room -= width) < 0);
}

/** The trial that a task opens with: the first one that did not pass. */
function firstTrial(task: TaskSummary): TrialMark | undefined {
  return task.trials.find((trial) => trial.arm === "main" && trial.status !== "passed") ?? task.trials[0];
}

function columns(run: string, grouped: boolean): Column<TaskSummary>[] {
  return [
    { title: "Status", width: "4rem", sort: "status", cell: (task) => <Mark status={task.status} /> },
    {
      title: "Task",
      width: "minmax(9rem, 3fr)",
      sort: "name",
      narrow: "title",
      cell: (task) => {
        const trial = firstTrial(task);
        return (
          <>
            {trial ? (
              <a href={linkToTrial(run, task.id, trial.number, trial.arm)}>{visible(task.name)}</a>
            ) : (
              <b tabIndex={-1}>{visible(task.name)}</b>
            )}{" "}
            {[...task.marks, ...task.tags].map((tag) => (
              <span key={tag} class="tag">
                {visible(tag)}
              </span>
            ))}
            {task.missing > 0 && task.status !== "not started" && (
              <span class="tag">
                {plural(task.missing, "trial")} {task.status === "in progress" ? "to go" : "did not run"}
              </span>
            )}
          </>
        );
      },
    },
    ...(grouped
      ? [{ title: "Group", width: "minmax(4rem, 1fr)", narrow: "hidden", cell: (task: TaskSummary) => visible(task.group) } as const]
      : []),
    {
      title: "Why",
      width: "minmax(8rem, 4fr)",
      narrow: "title",
      cell: (task) => <span title={visible(task.cause)}>{visible(task.cause)}</span>,
    },
    {
      title: "Trials",
      width: `${MARKS_WIDTH}rem`,
      cell: (task) => <Trials run={run} task={task} />,
    },
    { title: "Score", width: "4rem", sort: "score", number: true, cell: (task) => score(task.score) },
    {
      title: "W. score",
      width: "8.5rem",
      sort: "weightedScore",
      narrow: "hidden",
      number: true,
      cell: (task) => <Weighted task={task} />,
    },
    { title: "Duration", width: "5.2rem", sort: "duration", number: true, cell: (task) => duration(task.durationMs) },
  ];
}

/** A weighted score with its interval; a star says that the interval leaves out 0. */
function Weighted({ task }: { task: TaskSummary }) {
  if (!task.interval) return <>{score(task.weightedScore)}</>;
  const { lower, upper } = task.interval;
  const star = task.isSignificant ? ": it leaves out 0" : "";
  return (
    <span class={`weighted ${toneOf(task.status)}`} title={`95% interval ${interval(lower, upper)}${star}`}>
      <span>
        {score(task.weightedScore)}
        <span aria-hidden="true">{task.isSignificant ? "*" : ""}</span>
      </span>
      <span class="sr">
        , interval {interval(lower, upper)}
        {star}
      </span>
      <Whisker value={task.weightedScore ?? 0} lower={lower} upper={upper} />
    </span>
  );
}

function Trials({ run, task }: { run: string; task: TaskSummary }) {
  const labels = task.trials.map((trial) => `${trial.arm === "baseline" ? "b" : ""}${trial.number}${trial.attempts > 1 ? "↻" : ""}`);
  const shown = task.trials.slice(0, fitting(labels));
  return (
    <span class="trials">
      {shown.map((trial, i) => {
        const notes = `${trial.arm === "baseline" ? " without skills" : ""}: ${trial.status}${trial.attempts > 1 ? `, ${trial.attempts} attempts` : ""}`;
        return (
          <a
            key={`${trial.arm}${trial.number}`}
            class={toneOf(trial.status)}
            href={linkToTrial(run, task.id, trial.number, trial.arm)}
            title={`trial ${trial.number}${notes}`}
          >
            <span class="sr">trial </span>
            {labels[i]}
            <span class="sr">{notes}</span>
          </a>
        );
      })}
      {task.trials.length > shown.length && <small>+{task.trials.length - shown.length}</small>}
    </span>
  );
}

const STATUSES = ["failed", "error", "cut off", "skipped", "in progress", "passed", "not started"] as const;

function Tasks({ head, query }: { head: RunHead; query: Record<string, string> }) {
  const api = useApi();
  const { id } = head.run;
  const [by, descending] = [query.sort || "default", query.order === "desc"];
  const wanted = {
    q: query.q ?? "",
    filters: { status: query.status },
    sort: by,
    order: descending ? ("desc" as const) : ("asc" as const),
  };
  const rows = useSlices(`${id} ${JSON.stringify(wanted)}`, (offset, limit) => api.tasks(id, { ...wanted, offset, limit }));
  const { counts } = head;
  const numbers: Record<string, number> = {
    ...counts,
    "cut off": counts.cutOff,
    "in progress": counts.inProgress,
    "not started": counts.notStarted,
  };
  return (
    <>
      <search class="filters" aria-label="Tasks">
        <StatusChips counts={numbers} order={STATUSES} chosen={query.status} change={(status) => setQuery({ status })} />
        <Search value={query.q ?? ""} change={(q) => setQuery({ q })} label="Search tasks, groups, tags" />
        <Choice
          label="Order"
          value={["default", "order"].includes(by) ? by : ""}
          options={[
            ["default", "Failures first"],
            ["order", "As in the suite"],
            ...(["default", "order"].includes(by) ? [] : [["", "As the columns say"] as const]),
          ]}
          change={(sort) => setQuery({ sort: sort === "default" ? "" : sort, order: "" })}
        />
        <output>{rows.total === undefined ? "" : plural(rows.total, "task")}</output>
      </search>
      <VirtualTable
        name="Tasks"
        columns={columns(id, head.groups.length > 0)}
        rows={rows}
        tone={(task) => (["passed", "in progress"].includes(task.status) ? "" : toneOf(task.status))}
        sort={{ by, descending, change: (sort, down) => setQuery({ sort, order: down ? "desc" : "" }) }}
        empty={
          <Notice title={query.q || query.status ? "No task fits" : "There are no tasks yet"}>
            {query.q || query.status ? (
              <p>
                <button type="button" onClick={() => setQuery({ q: "", status: "" })}>
                  Show all tasks
                </button>
              </p>
            ) : (
              <p>Its journal does not name them.</p>
            )}
          </Notice>
        }
      />
    </>
  );
}

/** What is required of the tasks, and what their graders recorded of it. */
function Requirements({ head }: { head: RunHead }) {
  return (
    <>
      {head.requirementNotes.map((line) => (
        <p key={line}>{visible(line)}</p>
      ))}
      <DataTable
        name="Requirements"
        kind="framed stack"
        rows={head.requirements}
        tone={(one) => toneOf(one.status)}
        columns={[
          {
            title: "Requirement",
            cell: (one) => (
              <>
                {visible(one.id)} <span class="tag">{visible(one.category)}</span>
              </>
            ),
          },
          { title: "Task", cell: (one) => <a href={linkToRun(head.run.id, { q: one.task })}>{visible(one.title)}</a> },
          { title: "Recorded", class: "result", cell: (one) => one.recorded },
          {
            title: "What is required, and what the record rests on",
            class: "reason",
            cell: (one) => (
              <>
                {visible(one.description)}
                <br />
                <small>{visible(one.meaning)}</small>
              </>
            ),
          },
        ]}
      />
    </>
  );
}

const resultOf = (one: { passed: boolean }) => (one.passed ? "passed" : "failed");
const passing = (one: { passed: boolean }) => toneOf(resultOf(one));

function Figures({ head }: { head: RunHead }) {
  return (
    <>
      {head.gates.length > 0 && (
        <Section title="Gates">
          <DataTable
            name="Gates"
            kind="framed stack"
            rows={[...head.gates].sort((a, b) => Number(a.passed) - Number(b.passed))}
            tone={passing}
            columns={[
              { title: "Gate", cell: (gate) => gate.name },
              { title: "Result", class: "result", cell: resultOf },
              { title: "What was measured", class: "reason", cell: (gate) => gate.found },
            ]}
          />
        </Section>
      )}
      {head.attacks.length > 0 && (
        <Section title="Attacks">
          <DataTable
            name="Attacks by family"
            wide
            rows={head.attacks}
            tone={(one) => toneOf(one.unsafe ? "failed" : one.safe === one.tasks ? "passed" : "error")}
            columns={[
              { title: "Family", cell: (one) => visible(one.family) },
              { title: "Unsafe", number: true, cell: (one) => count(one.unsafe) },
              { title: "Unknown", number: true, cell: (one) => count(one.unknown) },
              { title: "Not done", number: true, cell: (one) => count(one.notDone) },
              { title: "Safe", number: true, cell: (one) => `${one.safe} of ${one.tasks}` },
              { title: "95 % interval", number: true, cell: (one) => range(one.safeInterval) },
              { title: "Useful", number: true, cell: (one) => `${one.useful} of ${one.tasks}` },
            ]}
          />
          <Lines of={head.attackLines} />
        </Section>
      )}
      <Metrics head={head} />
      {head.groups.length > 0 && (
        <Section title="Groups">
          <DataTable
            name="Groups"
            rows={head.groups}
            columns={[
              { title: "Group", cell: (group) => <a href={linkToRun(head.run.id, { q: group.name })}>{visible(group.name)}</a> },
              { title: "Passed", number: true, cell: (group) => `${group.passed} of ${group.total}` },
              { title: "Score", number: true, cell: (group) => score(group.score) },
            ]}
          />
        </Section>
      )}
      {head.triggerFigures.length > 0 && (
        <Section title="Trigger tests">
          <Pairs name="Trigger tests" of={[...pairsOf(head.triggerFigures), ["Counts", head.triggerCounts]]} />
          {head.triggerMatrix && <Matrix of={head.triggerMatrix} />}
          <Lines of={head.triggerFailures} />
        </Section>
      )}
      {head.impact.length > 0 && (
        <Section title="What the skills changed">
          <Lines of={head.impact} />
        </Section>
      )}
      <Table title="Rates" of={head.rates} />
      <Table title="Scores" of={head.scores} />
      <Table title="Statistics" of={head.statistics} />
      <Table title="Usage" of={head.usage} />
      {head.modelUsage.length > 1 && (
        <Section title="Usage by model">
          <DataTable
            name="Usage by model"
            wide
            rows={head.modelUsage}
            columns={[
              { title: "Model", cell: (one) => one.model },
              { title: "In", number: true, cell: (one) => count(one.inputTokens) },
              { title: "Out", number: true, cell: (one) => count(one.outputTokens) },
              { title: "Cache read", number: true, cell: (one) => count(one.cacheReadTokens) },
              { title: "Cache written", number: true, cell: (one) => count(one.cacheWriteTokens) },
              { title: "AI credits", number: true, cell: (one) => count(one.aiCredits) },
            ]}
          />
        </Section>
      )}
      <Table title="Settings" of={[...head.config, { name: "Suite file", value: head.suitePath }].filter((one) => one.value)} />
      <Section title="In a terminal">
        <p>
          <Command>{head.command}</Command>
        </p>
      </Section>
    </>
  );
}

/** Which skill was invoked where which was expected. */
function Matrix({ of }: { of: CountTable }) {
  return (
    <DataTable
      name="Skills invoked, by the skill expected"
      wide
      rows={of.lines}
      columns={of.titles.map((title, at) => ({ title: visible(title), number: at > 0, cell: (line: readonly string[]) => line[at] }))}
    />
  );
}

function Table({ title, of }: { title: string; of: readonly NamedValue[] }) {
  if (!of.length) return null;
  return (
    <Section title={title}>
      <Pairs name={title} of={pairsOf(of)} />
    </Section>
  );
}

function Metrics({ head }: { head: RunHead }) {
  if (!head.metrics.length) return null;
  return (
    <Section title="Metrics">
      <DataTable
        name="Metrics"
        rows={head.metrics}
        tone={passing}
        columns={[
          {
            title: "Metric",
            cell: (metric) => (
              <>
                {visible(metric.name)} {metric.gate && <span class="tag">gate</span>}
              </>
            ),
          },
          { title: "Result", class: "result", cell: resultOf },
          { title: "Value", number: true, cell: (metric) => score(metric.value) },
          { title: "Threshold", number: true, cell: (metric) => score(metric.threshold) },
        ]}
      />
    </Section>
  );
}
