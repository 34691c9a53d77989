/** Results of evaluation documents: items, their turns, what evaluators said. */

import { useState } from "preact/hooks";
import type { ItemPage, DocumentPage as Page, DocumentSummary, DocumentTurnPage, EvaluatorScore } from "../api";
import { ABSENT, plain, score, visible } from "../format";
import { Crumbs, Heading, useApi } from "../page";
import { Badge, Command, DataTable, Facts, Notice, Search, Section, StatusChips, Text, Words, pairsOf, toneOf } from "../parts";
import { link, setQuery } from "../router";
import { List } from "./list";

export function DocumentsPage() {
  const api = useApi();
  return (
    <>
      <Heading title="Documents" />
      <List
        fetch={api.documents}
        noun="document"
        empty={
          <Notice title="There are no results of evaluation documents here">
            <p>
              They come from <Command>waza m365 run evals.json</Command>
            </p>
          </Notice>
        }
      >
        {(one: DocumentSummary) => <Summary key={one.id} of={one} />}
      </List>
    </>
  );
}

const ORDER = ["fail", "error", "partial", "pass"] as const;

function Counts({ of }: { of: Record<string, number> }) {
  return (
    <span class="counts">
      {ORDER.filter((status) => of[status]).map((status) => (
        <span key={status} class={`badge ${toneOf(status)}`}>
          {of[status]} {status}
        </span>
      ))}
    </span>
  );
}

function Summary({ of }: { of: DocumentSummary }) {
  return (
    <article class={`panel ${of.error ? "error" : ""}`} aria-label={visible(of.name || of.id)}>
      <h2>
        <a href={link(["documents", of.id])} data-step>
          {visible(of.name || of.id)}
        </a>{" "}
        <Counts of={of.counts} />
      </h2>
      {of.error && <p class="feedback">{visible(of.error)}</p>}
      <Facts of={[["Items", String(of.items)], ["Turns", String(of.turns)], ...pairsOf(of.facts), ["File", of.id]]} />
    </article>
  );
}

export function DocumentPage({ id, query }: { id: string; query: Record<string, string> }) {
  const api = useApi();
  const [page, set] = useState<Page | undefined>();
  const wanted = { q: query.q ?? "", filters: { status: query.status } };
  return (
    <>
      <Crumbs of={[["Documents", link(["documents"])]]} />
      <Heading title={page?.document.name || id} />
      {page && (
        <>
          <Facts of={[...pairsOf(page.document.facts), ["File", page.document.id]]} />
          {page.description && <p>{visible(page.description)}</p>}
          <Totals page={page} />
        </>
      )}
      <Section title="Items">
        <search class="filters" aria-label="Items">
          <StatusChips counts={page?.document.counts ?? {}} order={ORDER} chosen={query.status} change={(status) => setQuery({ status })} />
          <Search value={query.q ?? ""} change={(q) => setQuery({ q })} label="Search items" />
        </search>
        <List
          of={JSON.stringify([id, wanted])}
          noun="item"
          fetch={async (offset, limit) => {
            const found = await api.document(id, { ...wanted, offset, limit });
            set(found.page);
            return found;
          }}
          empty={<p class="quiet">No item fits.</p>}
        >
          {(item: ItemPage) => <Item key={item.number} item={item} />}
        </List>
      </Section>
    </>
  );
}

function Totals({ page }: { page: Page }) {
  if (!page.totals.length) return null;
  return (
    <Section title="Evaluators">
      <DataTable
        name="Evaluators"
        wide
        rows={page.totals}
        columns={[
          { title: "Evaluator", cell: (one) => one.evaluator },
          { title: "Asked", number: true, cell: (one) => String(one.asked) },
          { title: "Passed", number: true, cell: (one) => String(one.passed) },
          { title: "Failed", number: true, cell: (one) => String(one.failed) },
          { title: "Errors", number: true, cell: (one) => String(one.errors) },
          { title: "Mean", number: true, cell: (one) => score(one.mean) },
        ]}
      />
    </Section>
  );
}

/** An item; what is in it is drawn when it is opened. Those that did not pass are open. */
function Item({ item }: { item: ItemPage }) {
  const [open, set] = useState(item.status !== "pass");
  return (
    <details
      class={`item ${toneOf(item.status)}`}
      open={open}
      onToggle={(event) => {
        if (event.target === event.currentTarget) set(event.currentTarget.open);
      }}
    >
      <summary data-step>
        <span class="quiet">{item.number}</span>
        <b>{visible(item.title)}</b>
        <span class="quiet gist">{visible(item.gist)}</span>
        <Badge status={item.status || "not evaluated"} />
      </summary>
      {open && (
        <div class="body">
          {item.description && <p>{visible(item.description)}</p>}
          {item.turns.map((turn, i) => (
            <Turn key={i} turn={turn} number={i + 1} several={item.turns.length > 1} />
          ))}
        </div>
      )}
    </details>
  );
}

function Turn({ turn, number, several }: { turn: DocumentTurnPage; number: number; several: boolean }) {
  return (
    <div class="part">
      {several && (
        <h3>
          Turn {number} <Badge status={turn.status || "not evaluated"} />
        </h3>
      )}
      {turn.error && <p class="panel error feedback">{visible(turn.error)}</p>}
      <dl class="contrast">
        <div class="wide">
          <dt>Prompt</dt>
          <dd tabIndex={0}>
            <Words text={turn.prompt} />
          </dd>
        </div>
        {turn.expectedResponse && (
          <div>
            <dt>Expected response</dt>
            <dd tabIndex={0}>
              <Words text={turn.expectedResponse} />
            </dd>
          </div>
        )}
        <div>
          <dt>Response</dt>
          <dd tabIndex={0}>{turn.response ? <Words text={turn.response} /> : <span class="blank">blank</span>}</dd>
        </div>
      </dl>
      {turn.scores.length > 0 && <Scores of={turn.scores} />}
      {(turn.citations !== null || turn.diagnostics !== null) && (
        <details>
          <summary>Citations and diagnostics</summary>
          <Text text={plain({ citations: turn.citations, diagnostics: turn.diagnostics })} label="Citations and diagnostics" />
        </details>
      )}
    </div>
  );
}

const RANKS: Record<string, number> = { error: 0, fail: 1 };

function Scores({ of }: { of: readonly EvaluatorScore[] }) {
  const ordered = [...of].sort((a, b) => (RANKS[a.result] ?? 2) - (RANKS[b.result] ?? 2));
  return (
    <DataTable
      name="Evaluators of this turn"
      kind="framed stack"
      rows={ordered}
      tone={(one) => toneOf(one.result)}
      columns={[
        { title: "Evaluator", cell: (one) => one.evaluator },
        { title: "Result", class: "result", cell: (one) => one.result },
        {
          title: "Score",
          number: true,
          cell: (one) => (
            <>
              {one.score || ABSENT}
              {one.threshold && <span class="quiet"> of {visible(one.threshold)}</span>}
            </>
          ),
        },
        { title: "Why", class: "reason", cell: (one) => one.reason },
      ]}
    />
  );
}

