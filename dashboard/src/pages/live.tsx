/** Runs in progress: trials as they finish, what is running now, what it has cost, how long it may take. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { LiveEvent, LiveRun } from "../api";
import { ABSENT, cost, count, duration, grouped, moment, score, visible } from "../format";
import { asError } from "../load";
import { Heading, useApi } from "../page";
import { Command, Mark, Notice, Section, toneOf } from "../parts";
import { link, linkToRun, linkToTrial, setQuery } from "../router";
import { type Connection, follow } from "../stream";
import { Card } from "./runs";

const FEED = 200; // events that are shown
const LOOK = 2000; // milliseconds after which it is looked for other runs

export function LivePage({ query }: { query: Record<string, string> }) {
  const api = useApi();
  const [runs, set] = useState<LiveRun[] | undefined>();
  const [asked, setAsked] = useState(0); // when those were asked for
  const [error, fail] = useState("");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let open = true;
    const look = () => {
      const begin = Date.now();
      return api
        .live()
        .then(
          (found) => {
            if (!open) return;
            set(found);
            setAsked(begin);
            fail("");
          },
          (thrown: unknown) => open && fail(asError(thrown).message),
        )
        .finally(() => {
          if (open) timer = setTimeout(look, LOOK);
        });
    };
    look();
    return () => {
      open = false;
      clearTimeout(timer);
    };
  }, []);
  const newest = runs?.[0]?.run.id;
  // The run that is watched stays in the address: a reload shows the same, and so does its end.
  useEffect(() => {
    if (!query.run && newest) setQuery({ run: newest });
  }, [query.run, newest]);
  const others = (runs ?? []).filter((one) => one.run.id !== query.run);
  return (
    <>
      <Heading title="Live" />
      {error && !query.run && (
        <Notice title="The server does not answer" kind="error">
          <p>{visible(error)}</p>
          <p>This page goes on by itself when it is back.</p>
        </Notice>
      )}
      {others.length > 0 && query.run && (
        <p>
          Also in progress:{" "}
          {others.map((one, i) => (
            <>
              {i > 0 && ", "}
              <a key={one.run.id} href={link(["live"], { run: one.run.id })}>
                {visible(one.run.spec)} {visible(one.run.model)}
              </a>
            </>
          ))}
        </p>
      )}
      {query.run ? (
        <Watch key={query.run} id={query.run} known={runs?.find((one) => one.run.id === query.run)} asked={asked} />
      ) : (
        runs && (
          <Notice title="No run is in progress">
            <p>
              Start one and it appears here: <Command>waza run eval.yaml</Command>
            </p>
          </Notice>
        )
      )}
    </>
  );
}

interface Seen {
  trials: LiveEvent[];
  /** Why it does not go on, although it has not ended. */
  state: string;
  live: LiveRun | undefined;
  at: number;
  spec: string;
  model: string;
  ended: LiveEvent | undefined;
  endedAt: number;
}

/** `known` is the run as it was listed among those in progress when the list was `asked` for. */
function Watch({ id, known, asked }: { id: string; known: LiveRun | undefined; asked: number }) {
  const [connection, setConnection] = useState<Connection>("connecting");
  const [seen, setSeen] = useState<Seen>({ trials: [], state: "", live: undefined, at: 0, spec: "", model: "", ended: undefined, endedAt: 0 });
  const [part, restart] = useState(0); // a run may go on after its end, when it is resumed
  useEffect(() => {
    setSeen((old) => ({ ...old, trials: [], ended: undefined }));
    return follow(id, 0, (event) => setSeen((old) => add(old, event)), setConnection);
  }, [id, part]);
  // Its stream has ended, and a list that was asked for after that still has it.
  const resumed = connection === "ended" && known !== undefined && asked > seen.endedAt;
  const restarted = useRef(false);
  useEffect(() => {
    if (resumed && !restarted.current) restart((n) => n + 1);
    restarted.current = resumed;
  }, [resumed]);
  const latest = useNewest(seen.live, seen.at, known);
  const live = latest.live;
  const now = useClock(connection !== "ended");
  const passed = Math.max(0, live && !seen.ended && !seen.state ? now - latest.at : 0);
  const { ended, trials } = seen;
  const lastEvent = ended ?? trials.at(-1);
  const last = lastEvent?.data;
  // What is running is told after the trial that ended before it: the newer one of both has the figures.
  const newer = live && live.sequence >= (lastEvent?.sequence ?? 0);
  const total = live?.totalTrials ?? last?.totalTrials ?? null;
  const done = newer ? live.completedTrials : (last?.completedTrials ?? trials.length);
  const errors = newer ? live.errors : trials.filter((event) => event.data.outcome === "error").length;
  const counts = {
    pass: newer ? live.passed : (last?.passCount ?? 0),
    fail: newer ? live.failed : Math.max(0, (last?.failCount ?? 0) - errors),
    error: errors,
  };
  const tokens = newer ? live.tokens : last?.tokens;
  const spec = live?.run.spec || seen.spec || id;
  return (
    <>
      <div class="head">
        <div>
          <h2>
            <a href={linkToRun(id)}>{visible(spec)}</a> <span class="quiet">{visible(live?.run.model || seen.model)}</span>
          </h2>
        </div>
        <ConnectionState state={connection} ended={ended} />
      </div>
      <div
        class="progress"
        role="progressbar"
        aria-label="Trials that have finished"
        aria-valuemin={0}
        aria-valuemax={total ?? undefined}
        aria-valuenow={done}
        aria-valuetext={`${done}${total === null ? "" : ` of ${total}`} trials`}
      >
        {(["pass", "fail", "error"] as const).map((tone) => counts[tone] > 0 && <i key={tone} class={tone} style={{ flex: counts[tone] }} />)}
        {total !== null && total > done && <span style={{ flex: total - done }} />}
      </div>
      <dl class="cards">
        <Card name="Trials" value={`${grouped(done)}${total === null ? "" : ` of ${grouped(total)}`}`} />
        <Card name="Passed" value={grouped(counts.pass)} tone={counts.pass ? "pass" : ""} />
        <Card name="Failed" value={grouped(counts.fail)} tone={counts.fail ? "fail" : ""} />
        <Card name="Errors" value={grouped(counts.error)} tone={counts.error ? "error" : ""} />
        <Card name="Elapsed" value={live ? duration(live.elapsedMs + passed) : ABSENT} />
        <Card name="Left, about" value={ended ? "0s" : live?.leftMs == null ? ABSENT : duration(Math.max(0, live.leftMs - passed))} />
        <Card name="Tokens" value={count(tokens)} />
        <Card
          name="Cost so far"
          value={last?.cost === undefined ? (live?.aiCredits == null ? ABSENT : `${count(live.aiCredits)} credits`) : cost(last.cost)}
          note={live?.premiumRequests ? `${live.premiumRequests.toFixed(0)} premium requests` : ""}
        />
      </dl>
      {ended && <Ended id={id} event={ended} />}
      {!ended && seen.state && (
        <Notice title="It does not go on">
          <p>{visible(seen.state)}</p>
          <p>
            When it is resumed, this page goes on: <Command>waza run --resume</Command>
          </p>
        </Notice>
      )}
      {!ended && (
        <Section title="Running now" count={live?.running.length ?? 0}>
          {live?.running.length ? (
            <ul class="feed">
              {live.running.map((one) => (
                <li key={`${one.arm} ${one.task} ${one.trial}`}>
                  <span class="running tone">{one.doing}</span>
                  <span>
                    <b>{visible(one.name)}</b> trial {one.trial}
                    {one.arm === "baseline" && " without skills"}
                    {one.attempt > 1 && `, attempt ${one.attempt}`}
                    {one.turn > 1 && `, turn ${one.turn}`}
                  </span>
                  <span class="quiet">
                    {one.toolCalls > 0 && `${one.toolCalls} calls, `}
                    {duration(Math.max(0, now - Date.parse(one.since)))}
                  </span>
                </li>
              ))}
            </ul>
          ) : (
            <p class="quiet">Nothing is known to be running at this moment.</p>
          )}
        </Section>
      )}
      <Section title="Trials that have finished">
        <Feed id={id} events={trials} />
      </Section>
    </>
  );
}

/** The newer one of what the stream and what the list of runs in progress say. */
function useNewest(streamed: LiveRun | undefined, at: number, listed: LiveRun | undefined) {
  const seen = useRef<{ live: LiveRun | undefined; at: number }>({ live: undefined, at: 0 });
  const list = useRef(listed);
  if (listed && listed !== list.current) seen.current = { live: listed, at: Date.now() };
  list.current = listed;
  if (streamed && at >= seen.current.at) seen.current = { live: streamed, at };
  if (!seen.current.live && listed) seen.current = { live: listed, at: Date.now() };
  return seen.current;
}

function add(old: Seen, event: LiveEvent): Seen {
  const final = event.type === "run_completed" || event.type === "run_failed";
  // What passes by has the number of the event before it; trials come again after a new connection at most.
  const known = event.type !== "task_completed" || old.trials.some((one) => one.sequence === event.sequence);
  return {
    trials: known ? old.trials : [...old.trials, event],
    live: event.data.live ?? old.live,
    at: event.data.live ? Date.now() : old.at,
    spec: event.data.spec ?? old.spec,
    model: event.data.model ?? old.model,
    state: event.type === "step_executed" ? (event.data.message ?? "") : old.state,
    ended: final ? event : event.type === "run_started" ? undefined : old.ended,
    endedAt: final ? Date.now() : old.endedAt,
  };
}

function useClock(going: boolean): number {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    if (!going) return;
    const timer = setInterval(() => set(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [going]);
  return now;
}

const STATES: Record<Connection, readonly [tone: string, words: string]> = {
  connecting: ["partial", "connecting"],
  live: ["running", "connected"],
  reconnecting: ["error", "the server does not answer; trying again"],
  ended: ["", "the run has ended"],
};

function ConnectionState({ state, ended }: { state: Connection; ended: LiveEvent | undefined }) {
  const [tone, words] = STATES[state];
  return (
    <p class="connection" role="status">
      <i class={tone} aria-hidden="true" /> {ended ? STATES.ended[1] : words}
    </p>
  );
}

function Ended({ id, event }: { id: string; event: LiveEvent }) {
  const outcome = event.data.outcome ?? (event.type === "run_completed" ? "complete" : "failed");
  return (
    <Notice title={`The run has ended: ${visible(outcome)}`}>
      {event.data.message && <p>{visible(event.data.message)}</p>}
      <p>
        <a href={linkToRun(id)}>Show its results</a>
      </p>
    </Notice>
  );
}

function Feed({ id, events }: { id: string; events: readonly LiveEvent[] }) {
  const shown = events.slice(-FEED).reverse();
  if (!shown.length) return <p class="quiet">None yet.</p>;
  return (
    <>
      <ol class="feed" reversed>
        {shown.map((event) => {
          const { data } = event;
          const name = visible(data.taskName || data.taskId || "");
          return (
            <li key={event.sequence} class={toneOf(data.outcome)}>
              <Mark status={data.outcome ?? ""} />
              <span>
                {data.taskId === undefined || data.trial === undefined ? (
                  name
                ) : (
                  <a href={linkToTrial(id, data.taskId, data.trial, data.arm)}>{name}</a>
                )}{" "}
                <span class="quiet">
                  trial {data.trial}
                  {data.arm === "baseline" && " without skills"}
                </span>{" "}
                {data.message && <span>{visible(data.message)}</span>}
              </span>
              <span>{data.score === undefined ? "" : score(data.score)}</span>
              <span class="quiet">{data.duration === undefined ? "" : duration(data.duration * 1000)}</span>
              <time class="quiet" dateTime={event.timestamp} title={moment(event.timestamp)}>
                {moment(event.timestamp).slice(11)}
              </time>
            </li>
          );
        })}
      </ol>
      {events.length > FEED && <p class="quiet">The last {FEED} of {grouped(events.length)} are shown.</p>}
    </>
  );
}
