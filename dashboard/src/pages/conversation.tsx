/** What was said and done in a trial, turn by turn. */

import type { Step, CallPage, TurnPage } from "../api";
import { exactDuration, grouped, plain, visible } from "../format";
import { Text, toneOf } from "../parts";

export function Conversation({ turns, whole, others }: { turns: readonly TurnPage[]; whole: boolean; others: Record<string, number> }) {
  const counted = Object.entries(others);
  return (
    <>
      {turns.map((turn, i) => (
        <Turn key={i} turn={turn} number={i + 1} />
      ))}
      {!whole && <p class="quiet">There is no transcript: the first prompt, the calls and the final output are all that is recorded.</p>}
      {counted.length > 0 && (
        <p class="quiet">Events that are not shown: {counted.map(([name, number]) => `${visible(name)} ${number}`).join(", ")}</p>
      )}
    </>
  );
}

function Turn({ turn, number }: { turn: TurnPage; number: number }) {
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
      {!answered && <p class="quiet">No answer</p>}
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
          <p class="feedback">{visible(step.text || "No reason is recorded.")}</p>
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

/** A tool call: its name and outcome in a line, arguments and result below. One that failed is open. */
export function Call({ call, id }: { call: CallPage; id?: string }) {
  const given = call.arguments === null || call.arguments === undefined ? "" : plain(call.arguments);
  const short = given.replace(/\s+/g, " ");
  const outcome = !call.ended ? "its end was not seen" : call.success ? "" : "failed";
  return (
    <details class={`call ${toneOf(call.success ? "passed" : "failed")}`} id={id} open={!call.success}>
      <summary data-step>
        <code>
          <b>{visible(call.name)}</b> {short === "{}" ? "" : visible(short)}
        </code>
        {outcome && <span class="result">{outcome}</span>}
        <span class="quiet">{call.durationMs === null ? "" : exactDuration(call.durationMs)}</span>
      </summary>
      <dl class="fields">
        <div>
          <dt>Arguments</dt>
          <dd tabIndex={0}>{given && short !== "{}" ? visible(given) : <span class="blank">none</span>}</dd>
        </div>
        <div>
          <dt>Result{call.truncated && `, without the middle of its ${grouped(call.resultBytes)} bytes`}</dt>
          <dd tabIndex={0}>{call.result ? visible(call.result) : <span class="blank">blank</span>}</dd>
        </div>
      </dl>
    </details>
  );
}
