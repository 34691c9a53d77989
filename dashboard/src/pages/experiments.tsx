/** Controlled experiments: what they compare, how far they are, what they decided. */

import type { ArmPage, ExperimentPage } from "../api";
import { moment, plural, visible } from "../format";
import { Heading, useApi } from "../page";
import { Badge, Command, Facts, Notice, Pairs, pairsOf } from "../parts";
import { List } from "./list";

export function ExperimentsPage() {
  const api = useApi();
  return (
    <>
      <Heading title="Experiments" />
      <List
        fetch={api.experiments}
        noun="experiment"
        empty={
          <Notice title="There are no experiments here">
            <p>
              An experiment compares two arms by a plan that is sealed before the data: <Command>waza experiment plan</Command>
            </p>
          </Notice>
        }
      >
        {(one: ExperimentPage) => <Experiment key={one.path} of={one} />}
      </List>
    </>
  );
}

const TONES = { pass: "pass", fail: "fail", inconclusive: "partial" } as const;

function Experiment({ of }: { of: ExperimentPage }) {
  const tone = of.error ? "error" : of.outcome ? TONES[of.outcome] : "";
  return (
    <article class={`panel ${tone}`} data-step tabIndex={-1} aria-label={visible(of.path)}>
      <h2>
        {of.path === "." ? "This directory" : visible(of.path)} {of.error ? <Badge status="error" /> : <Badge status={of.outcome ?? "undecided"} />}
      </h2>
      {of.error && <p class="feedback">{visible(of.error)}</p>}
      {of.reason && <p class="sentence">{visible(of.reason)}</p>}
      {of.comparison && <p class="quiet">By all that was collected: {visible(of.comparison)}</p>}
      {of.goldenFailures.length > 0 && <p>Golden tasks that did not pass: {of.goldenFailures.map(visible).join(", ")}</p>}
      <Facts
        of={[
          ["Planned", moment(of.created)],
          ["Baseline", of.baseline && arm(of.baseline)],
          ["Candidate", of.candidate && arm(of.candidate)],
          ["Runs", `${of.runsCollected} of ${of.runsPlanned}`],
          ["Still to collect", of.runsWanted ? plural(of.runsWanted, "run") : ""],
          ["Differ in", of.allowed.map(visible).join(", ")],
        ]}
      />
      {of.rule.length > 0 && (
        <details>
          <summary>The rule</summary>
          <Pairs name="Rule" of={pairsOf(of.rule)} />
        </details>
      )}
    </article>
  );
}

const arm = (of: ArmPage) => [of.suite, of.model, of.engine, of.withoutSkills && "without skills"].filter(Boolean).join(", ");
