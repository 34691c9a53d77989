/** A trial: why it ended as it did, then all that is recorded of it. */

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Check, DenialPage, FileChange, TimelineEntry, TrialLink, TrialDetail as Trial } from "../api";
import { readDiff } from "../diff";
import { ABSENT, exactDuration, grouped, plain, plural, score, visible } from "../format";
import { useLoad } from "../load";
import { Crumbs, Heading, useApi } from "../page";
import { Badge, Command, DataTable, Facts, Pairs, Section, Show, Text, Words, pairsOf, toneOf } from "../parts";
import { link, linkToRun, linkToTrial, setQuery } from "../router";
import { Conversation } from "./conversation";

export function TrialPage({ run, task, number, query }: { run: string; task: string; number: number; query: Record<string, string> }) {
  const api = useApi();
  const arm = query.arm ?? "main";
  const loaded = useLoad(() => api.trial(run, task, number, arm), [run, task, number, arm]);
  const spec = loaded.state === "done" ? loaded.value.spec : run;
  return (
    <>
      <Crumbs
        of={[
          ["Runs", link([])],
          [spec, linkToRun(run)],
        ]}
      />
      <Show loaded={loaded}>{(trial) => <Page key={`${trial.task} ${trial.number} ${trial.arm}`} trial={trial} chosen={query.check ?? ""} />}</Show>
      {loaded.state === "error" && <Heading title={`${task}, trial ${number}`} />}
    </>
  );
}

function Page({ trial, chosen }: { trial: Trial; chosen: string }) {
  const several = trial.planned > 1 || trial.trials.length > 1;
  return (
    <>
      <div class="head">
        <div>
          <Heading title={trial.name || trial.task} window={`${trial.name || trial.task}: ${trial.status}`}>
            <Badge status={trial.status} />
          </Heading>
          <Facts
            of={[
              ["Trial", several ? `${trial.number} of ${Math.max(trial.planned, 1)}` : ""],
              ["Arm", trial.arm === "baseline" ? "without skills" : ""],
              ["Task", trial.task === trial.name ? "" : trial.task],
              ["Model", trial.model],
              ["Score", trial.score === null ? "not graded" : score(trial.score)],
              ["Weighted", trial.weightedScore === null || trial.weightedScore === trial.score ? "" : score(trial.weightedScore)],
            ]}
          />
        </div>
        <Steps trial={trial} />
      </div>
      {several && <Strip trial={trial} />}
      {trial.inProgress && <p class="quiet">The run is in progress: more trials may come.</p>}
      {trial.error && <Why trial={trial} />}
      <Verdicts trial={trial} chosen={chosen} />
      {!trial.error && <Why trial={trial} />}
      <Timeline trial={trial} />
      <Section title="Conversation">
        <Conversation turns={trial.turns} whole={trial.whole} others={trial.otherEvents} />
      </Section>
      <Digest trial={trial} />
      <Rest trial={trial} />
      <FileChanges changes={trial.fileChanges} />
      <Section title="About this trial">
        <Pairs name="About this trial" of={pairsOf(trial.facts)} />
        <p>
          In a terminal: <Command>{trial.command}</Command>
        </p>
      </Section>
    </>
  );
}

const to = (run: string, trial: TrialLink) => linkToTrial(run, trial.task, trial.number, trial.arm);

/** The way to the neighbours, those that failed first. */
function Steps({ trial }: { trial: Trial }) {
  const word = (one: TrialLink) => (one.status === "passed" ? "" : " failed");
  return (
    <nav class="actions" aria-label="Neighbours">
      {trial.previous && (
        <a href={to(trial.run, trial.previous)} data-key="p" title={`${visible(trial.previous.task)}, trial ${trial.previous.number} (p)`}>
          ← Previous{word(trial.previous)}
        </a>
      )}
      {trial.next && (
        <a href={to(trial.run, trial.next)} data-key="n" title={`${visible(trial.next.task)}, trial ${trial.next.number} (n)`}>
          Next{word(trial.next)} →
        </a>
      )}
    </nav>
  );
}

function Strip({ trial }: { trial: Trial }) {
  return (
    <nav class="trials strip" aria-label="Trials of this task">
      {trial.trials.map((one) => {
        const notes = `${one.arm === "baseline" ? " without skills" : ""}: ${one.status}`;
        const current = one.number === trial.number && one.arm === trial.arm;
        return (
          <a
            key={`${one.arm}${one.number}`}
            class={toneOf(one.status)}
            href={to(trial.run, one)}
            aria-current={current ? "page" : undefined}
            title={`trial ${one.number}${notes}`}
          >
            <span class="sr">trial </span>
            {one.arm === "baseline" ? "b" : ""}
            {one.number}
            <span class="sr">{notes}</span>
          </a>
        );
      })}
    </nav>
  );
}

/** What explains the end of the trial besides its verdicts. */
function Why({ trial }: { trial: Trial }) {
  if (!trial.error && !trial.besides.length) return null;
  return (
    <Section title={trial.error ? "What broke" : "What else went wrong"}>
      <ul class="why">
        {trial.error && (
          <li class="panel error" data-step tabIndex={-1}>
            <p class="feedback">
              <Words text={trial.error} />
            </p>
            {trial.timedOut && <p class="quiet">A time limit ended it; what was seen until then is below.</p>}
          </li>
        )}
        {trial.besides.map((line, i) => (
          <li key={i} class="panel partial">
            <p class="feedback">{visible(line)}</p>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function CheckHead({ check }: { check: Check }) {
  return (
    <p class="check-head">
      <b>
        {visible(check.name)} <span class="quiet">{visible(check.type)}</span>
        {check.afterTurn > 0 && <span class="quiet"> after turn {check.afterTurn}</span>}
      </b>
      <span class="result">{check.broke ? "no verdict" : check.passed ? "passed" : "failed"}</span>
      <span>{score(check.score)}</span>
    </p>
  );
}

/** What a grader wanted beside what it saw. */
function Contrast({ check }: { check: Check }) {
  if (!check.expected && !check.found) return null;
  return (
    <dl class="contrast">
      {check.expected && (
        <div>
          <dt>Expected</dt>
          <dd tabIndex={0}>
            <Words text={check.expected} />
          </dd>
        </div>
      )}
      {check.found && (
        <div>
          <dt>Found</dt>
          <dd tabIndex={0}>
            <Words text={check.found} />
          </dd>
        </div>
      )}
    </dl>
  );
}

const keyOf = (check: Check) => (check.afterTurn ? `${check.name}@${check.afterTurn}` : check.name);

/** The verdicts, beside the text that they judged: what the chosen one speaks of is marked in it. */
function Verdicts({ trial, chosen }: { trial: Trial; chosen: string }) {
  const { checks } = trial; // what explains the end comes first
  const failed = checks.filter((check) => !check.passed).length;
  // What a verdict that passed speaks of is no answer to why others did not.
  const current = checks.find((check) => keyOf(check) === chosen) ?? checks.find((check) => check.highlights.length && !(failed && check.passed));
  const title = failed ? (trial.error ? "Verdicts, of what was seen until then" : "Why it failed") : "Verdicts";
  return (
    <Section title={trial.status === "passed" && failed ? "Verdicts" : title}>
      <div class="beside">
        <ol class="checks">
          {checks.map((check) => (
            <Verdict key={keyOf(check)} check={check} current={check === current && check.highlights.length > 0} />
          ))}
          {!checks.length && <li class="quiet">{trial.status === "skipped" ? "It was not graded." : "No grader judged this trial."}</li>}
        </ol>
        <div class="judged">
          <h3>
            The output{" "}
            {current && current.highlights.length > 0 && <span class="quiet">with what {visible(current.name)} speaks of</span>}
          </h3>
          <Judged text={trial.judgedText} current={current} />
          {trial.truncated && <p class="quiet">It is {grouped(trial.outputBytes)} bytes long; its middle was not stored.</p>}
        </div>
      </div>
    </Section>
  );
}

function Judged({ text, current }: { text: string; current: Check | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const mark = box.current?.querySelector("mark");
    const well = mark?.closest(".well");
    if (mark && well) well.scrollTop += mark.getBoundingClientRect().top - well.getBoundingClientRect().top - 48;
  }, [current]);
  return (
    <div ref={box}>
      <Text text={text} spans={current?.highlights ?? []} label="The output that was judged" />
    </div>
  );
}

function Verdict({ check, current }: { check: Check; current: boolean }) {
  const more = Object.entries(check.details).filter(
    ([, value]) => value !== null && value !== "" && !(Array.isArray(value) && !value.length),
  );
  const notes = [check.weight !== 1 && `weight ${check.weight}`, exactDuration(check.durationMs)].filter(Boolean).join(", ");
  return (
    <li class={`panel ${check.broke ? "error" : check.passed ? "pass" : "fail"}`} data-step tabIndex={-1} aria-current={current ? "true" : undefined}>
      <CheckHead check={check} />
      {check.failures.length > 1 ? (
        <ul class="failures">
          {check.failures.map((failure, i) => (
            <li key={i}>{visible(failure)}</li>
          ))}
        </ul>
      ) : (
        check.feedback && (
          <p class="feedback">
            <Words text={check.feedback} />
          </p>
        )
      )}
      {!check.passed && <Contrast check={check} />}
      <p class="quiet check-notes">
        {notes}
        {check.highlights.length > 0 && (
          <button type="button" class="quiet-button" aria-pressed={current} onClick={() => setQuery({ check: keyOf(check) })}>
            show in the output
          </button>
        )}
      </p>
      {(more.length > 0 || check.judgePrompt || check.judgeResponse) && (
        <details>
          <summary>Details</summary>
          <dl class="fields">
            {check.judgePrompt && <Field name="The judge was asked" value={check.judgePrompt} />}
            {check.judgeResponse && <Field name="The judge wrote" value={check.judgeResponse} />}
            {more.map(([key, value]) => (
              <Field key={key} name={key} value={plain(value)} />
            ))}
          </dl>
        </details>
      )}
    </li>
  );
}

function Field({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{visible(name)}</dt>
      <dd tabIndex={0}>
        <Words text={value} />
      </dd>
    </div>
  );
}

const KINDS = { turn: "turn", tool: "tool call", mcp: "MCP call", judge: "judge" } as const;
const MOST_BARS = 200;

/** The waterfall: when things began and how long they took; what is not known is said, not drawn. */
function Timeline({ trial }: { trial: Trial }) {
  if (!trial.timeline.length) return null;
  const end = Math.max(1, ...trial.timeline.map((one) => (one.startMs ?? 0) + (one.durationMs ?? 0)));
  const shown = trial.timeline.slice(0, MOST_BARS);
  return (
    <Section title="Timeline" count={trial.timeline.length}>
      <div class="waterfall">
        <ol>
          {shown.map((one, i) => (
            <Bar key={i} entry={one} end={end} />
          ))}
        </ol>
        {!trial.timeline.some((one) => one.durationMs) && <p class="quiet">How long things took is not recorded.</p>}
        {trial.timeline.some((one) => one.startMs === null) && <p class="quiet">What has no bar: when it began is not recorded.</p>}
        {trial.timeline.length > MOST_BARS && <p class="quiet">{plural(trial.timeline.length - MOST_BARS, "further bar")}</p>}
      </div>
    </Section>
  );
}

function Bar({ entry, end }: { entry: TimelineEntry; end: number }) {
  const began = entry.startMs === null ? "" : `, began after ${exactDuration(entry.startMs)}`;
  const name = `${KINDS[entry.kind]} ${visible(entry.label)}${began}`;
  const target = entry.step === null ? undefined : `step-${entry.turn}-${entry.step}`;
  const jump = (event: Event) => {
    event.preventDefault();
    const step = target && document.getElementById(target);
    if (!step) return;
    if (step instanceof HTMLDetailsElement) step.open = true;
    step.scrollIntoView({ block: "center" });
    (step.querySelector<HTMLElement>("summary") ?? step).focus({ preventScroll: true });
  };
  const label = (
    <>
      {visible(entry.label)} {!entry.ok && <span class="fail tone">failed</span>}
    </>
  );
  return (
    <li title={name}>
      <span class="name">
        <span class="sr">{KINDS[entry.kind]} </span>
        {target ? (
          <a href={location.hash} onClick={jump}>
            {label}
          </a>
        ) : (
          label
        )}
      </span>
      <svg aria-hidden="true" class={`${entry.kind}-bar ${entry.ok ? "" : "failed-bar"}`}>
        {entry.startMs !== null && (
          <rect
            x={`${(100 * entry.startMs) / end}%`}
            width={`${Math.max(0.4, (100 * (entry.durationMs ?? 0)) / end)}%`}
            y={entry.kind === "turn" ? 2 : 4}
            height={entry.kind === "turn" ? 12 : 8}
            rx="2"
          />
        )}
      </svg>
      <span class="number quiet">{exactDuration(entry.durationMs)}</span>
    </li>
  );
}

const POLICIES: Record<string, string> = {
  unrestricted: "The agent could use every tool that its runtime offers.",
  deny_all: "Every tool call was to be denied.",
  allow_list: "Only the tools that the agent declares were allowed.",
};

/** The session in short: the policy in effect, every denial, what was used. */
function Digest({ trial }: { trial: Trial }) {
  const { digest } = trial;
  const mode = digest.toolPolicyMode;
  const tools = new Map<string, number>();
  for (const tool of digest.toolsUsed) tools.set(tool, (tools.get(tool) ?? 0) + 1);
  return (
    <Section title="Session">
      <table class="framed pairs" aria-label="Session">
        <tbody>
          <tr>
            <th scope="row">Tool policy</th>
            <td>
              {mode ? <b>{visible(mode)}</b> : "the executor has none"} <span class="quiet">{POLICIES[mode] ?? ""}</span>
            </td>
          </tr>
          <tr class={digest.toolPolicyDenials.length ? "fail" : ""}>
            <th scope="row">Denials</th>
            <td>{digest.toolPolicyDenials.length ? <Denials of={digest.toolPolicyDenials} /> : mode ? "none" : ABSENT}</td>
          </tr>
          <tr>
            <th scope="row">Tool calls</th>
            <td>
              {digest.toolCallCount}
              {tools.size > 0 && (
                <span class="quiet">
                  : {[...tools].map(([tool, number]) => (number > 1 ? `${visible(tool)} ×${number}` : visible(tool))).join(", ")}
                </span>
              )}
            </td>
          </tr>
          {digest.errors.map((error, i) => (
            <tr key={`error${i}`} class="error">
              <th scope="row">Error</th>
              <td class="tone">{visible(error)}</td>
            </tr>
          ))}
          {digest.usage.map((one) => (
            <tr key={one.name}>
              <th scope="row">{visible(one.name)}</th>
              <td>{visible(one.value)}</td>
            </tr>
          ))}
          {digest.sessionId && (
            <tr>
              <th scope="row">Session</th>
              <td>
                <code>{visible(digest.sessionId)}</code>
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </Section>
  );
}

function Denials({ of }: { of: readonly DenialPage[] }) {
  return (
    <ul class="plain">
      {of.map((denial, i) => (
        <li key={i}>
          <b class="tone">{visible(denial.tool || "a tool")}</b> {denial.kind && <span class="quiet">{visible(denial.kind)}</span>} {visible(denial.reason)}
        </li>
      ))}
    </ul>
  );
}

function Rest({ trial }: { trial: Trial }) {
  return (
    <>
      {trial.checkpoints.length > 0 && (
        <Section title="Checkpoints">
          <ul class="plain">
            {trial.checkpoints.map((point) => (
              <li key={point.afterTurn}>
                <Badge status={point.status} /> after turn {point.afterTurn}
                {point.stopped && ", and ended the conversation"}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {trial.responder && (
        <Section title="Responder">
          <Pairs
            name="Responder"
            of={[
              ["Replies", String(trial.responder.followupsSent)],
              ["Ended", trial.responder.outcome.replaceAll("_", " ")],
              ...(trial.responder.reason ? [["Reason", trial.responder.reason] as const] : []),
            ]}
          />
        </Section>
      )}
      {trial.mockedCommands.length > 0 && (
        <Section title="Mocked programs" count={trial.mockedCommands.length}>
          <DataTable
            name="Mocked programs"
            rows={trial.mockedCommands}
            tone={(call) => (call.response === null || call.exhausted ? "fail" : "")}
            columns={[
              { title: "Call", cell: (call) => <code>{visible(call.line)}</code> },
              {
                title: "Response",
                class: "tone",
                cell: (call) =>
                  call.response === null ? "none fitted" : `the ${ordinal(call.response)}${call.exhausted ? ", exhausted" : ""}`,
              },
              { title: "Exit code", number: true, cell: (call) => String(call.exitCode) },
            ]}
          />
        </Section>
      )}
      {trial.judges.length > 0 && (
        <Section title="Judges" count={trial.judges.length}>
          {trial.judges.map((judge, i) => (
            <div key={i} class="panel">
              <h3>{visible(judge.label)}</h3>
              <Facts of={[["Tool calls", String(judge.toolCalls)], ...pairsOf(judge.usage)]} />
              {judge.denials.length > 0 && <Denials of={judge.denials} />}
            </div>
          ))}
        </Section>
      )}
      {trial.attemptsBefore.length > 0 && (
        <Section title="Attempts before" count={trial.attemptsBefore.length}>
          <ul class="why">
            {trial.attemptsBefore.map((attempt) => (
              <li key={attempt.number} class={`panel ${toneOf(attempt.status)}`}>
                <p class="check-head">
                  <b>Attempt {attempt.number}</b> <Badge status={attempt.status} /> <span class="quiet">{exactDuration(attempt.durationMs)}</span>
                </p>
                {attempt.error && <p class="feedback">{visible(attempt.error)}</p>}
                {attempt.failedGraders.length > 0 && <p>Not passed: {attempt.failedGraders.map(visible).join(", ")}</p>}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function ordinal(number: number): string {
  const last = number % 100 > 10 && number % 100 < 14 ? 0 : number % 10;
  return `${number}${["th", "st", "nd", "rd"][last] ?? "th"}`;
}

function FileChanges({ changes }: { changes: readonly FileChange[] }) {
  if (!changes.length) return null;
  const sources = [...new Set(changes.map((one) => one.source))].join(" and ");
  return (
    <Section title="Files" count={changes.length}>
      <p class="quiet">Known from {sources === "snapshot" ? "the snapshot of the workspace" : sources === "tool calls" ? "the tool calls that wrote them" : sources}.</p>
      {changes.map((one) => (
        <details key={one.path} open={changes.length <= 5} data-step tabIndex={-1}>
          <summary>
            <code>{visible(one.path)}</code> {one.change}
            {one.note && <span class="quiet">: {visible(one.note)}</span>}
          </summary>
          {one.diff && <Diff text={one.diff} whole={one.change === "written" || !one.diff.includes("@@")} name={one.path} />}
        </details>
      ))}
    </Section>
  );
}

const SIGNS = { added: "+", removed: "−", same: " ", place: "", note: "" } as const;
const MOST_LINES = 2000;

/** A unified diff, or the whole of a file of which nothing is known before. */
export function Diff({ text, whole, name }: { text: string; whole: boolean; name: string }) {
  if (whole && !text.startsWith("@@") && !/^(---|diff) /.test(text)) return <Text text={text} label={name} />;
  const lines = readDiff(text);
  return (
    <pre class="diff" tabIndex={0} role="group" aria-label={`Changes of ${name}`}>
      {lines.slice(0, MOST_LINES).map((line, i) => (
        <span key={i} class={line.kind}>
          {SIGNS[line.kind]}
          {visible(line.text)}
          {"\n"}
        </span>
      ))}
      {lines.length > MOST_LINES && <span class="note">{plural(lines.length - MOST_LINES, "more line")}</span>}
    </pre>
  );
}

