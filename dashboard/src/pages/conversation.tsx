/** What was said and done in a trial, turn by turn. */

import { useState } from "preact/hooks";
import type { CallPage, Step, TurnPage } from "../api";
import { exactDuration, grouped, plain, plural, visible } from "../format";
import { Text, Words, toneOf } from "../parts";

const FIRST = 300; // steps that are drawn until the reader asks for more

export function Conversation({ turns, whole, others }: { turns: readonly TurnPage[]; whole: boolean; others: Record<string, number> }) {
  const [most, show] = useState(FIRST);
  const counted = Object.entries(others);
  const shown: TurnPage[] = [];
  let left = most;
  for (const turn of turns) {
    if (left <= 0) break;
    shown.push({ ...turn, steps: turn.steps.slice(0, left) });
    left -= Math.max(1, turn.steps.length);
  }
  const count = (some: readonly TurnPage[]) => some.reduce((sum, turn) => sum + turn.steps.length, 0);
  const rest = count(turns) - count(shown);
  return (
    <>
      {shown.map((turn, i) => (
        <Turn key={i} turn={turn} number={i + 1} whole={turn.steps.length === turns[i]?.steps.length} />
      ))}
      {rest > 0 && (
        <button type="button" onClick={() => show(most + FIRST)}>
          Show {plural(Math.min(rest, FIRST), "more step")} of {grouped(rest)}
        </button>
      )}
      {!whole && <p class="quiet">There is no transcript: the first prompt, the calls and the final output are all that is recorded.</p>}
      {counted.length > 0 && (
        <p class="quiet">Events that are not shown: {counted.map(([name, number]) => `${visible(name)} ${number}`).join(", ")}</p>
      )}
    </>
  );
}

function Turn({ turn, number, whole }: { turn: TurnPage; number: number; whole: boolean }) {
  const answered = turn.steps.some((step) => step.kind === "message" || step.kind === "failure");
  return (
    <div class="turn">
      <div class="said user" data-step tabIndex={-1} id={`turn-${number}`}>
        <p class="who">User, turn {number}</p>
        {turn.prompt === null ? <p class="quiet">The prompt is not recorded.</p> : <Text text={turn.prompt} kind="words" label={`Prompt of turn ${number}`} />}
      </div>
      {turn.steps.map((step, i) => (
        <StepView key={i} step={step} id={`step-${number}-${i}`} />
      ))}
      {!answered && whole && <p class="quiet">No answer</p>}
    </div>
  );
}

function StepView({ step, id }: { step: Step; id: string }) {
  switch (step.kind) {
    case "message":
      return (
        <div class="said" data-step tabIndex={-1} id={id}>
          <p class="who">Agent</p>
          <Text text={step.text} kind="words" label="Answer" />
        </div>
      );
    case "failure":
      return (
        <div class="panel error" data-step tabIndex={-1} id={id}>
          <p class="who">The turn broke</p>
          <p class="feedback">
            <Words text={step.text || "No reason is recorded."} />
          </p>
        </div>
      );
    case "skill":
      return (
        <p id={id}>
          <span class="quiet">Skill loaded</span> <b>{visible(step.text)}</b>
        </p>
      );
    case "details":
      return (
        <details id={id}>
          <summary>What the platform says of the answer</summary>
          <Text text={plain(step.details)} label="Details" />
        </details>
      );
    case "call":
      return step.call ? <Call call={step.call} id={id} /> : null;
  }
}

/** The status of a call in colours, and in a word where it did not simply succeed. */
export const statusOf = (call: CallPage) => (call.success === null ? undefined : call.success ? "passed" : "failed");
export const outcomeOf = (call: CallPage) => (call.success === null ? "outcome not recorded" : call.success ? "" : "failed");

/** A tool call: its name and outcome in a line, arguments and result below. One that failed is open. */
export function Call({ call, id }: { call: CallPage; id?: string }) {
  const given = call.arguments === null || call.arguments === undefined ? "" : plain(call.arguments);
  const short = given.replace(/\s+/g, " ");
  const [open, set] = useState(call.success === false);
  const outcome = call.ended ? outcomeOf(call) : "its end was not seen";
  return (
    <details class={`call ${toneOf(statusOf(call))}`} id={id} open={open} onToggle={(event) => set(event.currentTarget.open)}>
      <summary data-step>
        <code>
          <b>{visible(call.name)}</b> {short === "{}" ? "" : visible(short.slice(0, 200))}
        </code>
        {outcome && <span class="result">{outcome}</span>}
        <span class="quiet">{call.durationMs === null ? "" : exactDuration(call.durationMs)}</span>
      </summary>
      {open && (
        <dl class="fields">
          <div>
            <dt>Arguments</dt>
            <dd tabIndex={0}>{given && short !== "{}" ? <Words text={given} /> : <span class="blank">none</span>}</dd>
          </div>
          <div>
            <dt>Result{call.truncated && `, without the middle of its ${grouped(call.resultBytes)} bytes`}</dt>
            <dd tabIndex={0}>{call.result ? <Words text={call.result} /> : <span class="blank">blank</span>}</dd>
          </div>
        </dl>
      )}
    </details>
  );
}
