/** The runs of the configured store. */

import { useState } from "preact/hooks";
import type { StoredPage as Page, StoredRun } from "../api";
import { ABSENT, count, percent, visible } from "../format";
import { useSlices } from "../load";
import { Heading, useApi } from "../page";
import { Badge, Command, Facts, Failure, Notice, Waiting, When } from "../parts";
import { linkToRun } from "../router";
import { type Column, VirtualTable } from "../table";
import { rateTone } from "./runs";

/** What the place of a store is called. */
const PLACES: Record<string, string> = { "azure-blob": "Account", s3: "Bucket", gcs: "Bucket", file: "Directory" };

const COLUMNS: readonly Column<StoredRun>[] = [
  {
    title: "Run",
    width: "minmax(9rem, 4fr)",
    narrow: "title",
    cell: (run) => (run.run ? <a href={linkToRun(run.run)}>{visible(run.id)}</a> : <b tabIndex={-1}>{visible(run.id)}</b>),
  },
  { title: "Verdict", width: "6rem", cell: (run) => (run.verdict ? <Badge status={run.verdict} /> : ABSENT) },
  { title: "Skill", width: "minmax(6rem, 2fr)", cell: (run) => visible(run.skill) },
  { title: "Model", width: "minmax(6rem, 2fr)", cell: (run) => visible(run.model) },
  {
    title: "Pass rate",
    width: "5.5rem",
    number: true,
    cell: (run) => <span class={`tone ${rateTone(run.passRate)}`}>{percent(run.passRate)}</span>,
  },
  { title: "Bytes", width: "4.5rem", number: true, narrow: "hidden", cell: (run) => count(run.size) },
  { title: "Here", width: "3.5rem", cell: (run) => (run.local ? "yes" : "") },
  { title: "When", width: "6rem", number: true, cell: (run) => <When time={run.timestamp} /> },
];

export function StoredPage() {
  const api = useApi();
  const [page, set] = useState<Page | undefined>();
  const rows = useSlices("stored", async (offset, limit) => {
    const found = await api.stored(offset, limit);
    set(found.page);
    return found;
  });
  const status = page?.status;
  return (
    <>
      <Heading title="Stored runs" />
      {status?.configured && (
        <Facts
          of={[
            ["Store", status.provider],
            [PLACES[status.provider] ?? "Place", status.account],
          ]}
        />
      )}
      {rows.error ? (
        <Failure error={rows.error} />
      ) : !page || rows.total === undefined ? (
        <Waiting />
      ) : page.error ? (
        <Notice title="The store cannot be listed" kind="error">
          <p>{visible(page.error)}</p>
          <p>
            The same in a terminal, with more to say: <Command>waza results list</Command>
          </p>
        </Notice>
      ) : !page.status.configured ? (
        <Notice title="No store is configured">
          <p>
            Results can be kept for others in Azure Blob Storage, S3, Google Cloud Storage or a directory: name one under{" "}
            <code>storage:</code> in <code>.waza.yaml</code>.
          </p>
        </Notice>
      ) : rows.total === 0 ? (
        <Notice title="The store is empty">
          <p>
            Runs are uploaded when they end. Earlier ones: <Command>waza results push</Command>
          </p>
        </Notice>
      ) : (
        <>
          <p class="quiet">
            A run that is not here is fetched by <Command>waza results pull</Command>
          </p>
          {page.warnings.map((warning) => (
            <p key={warning}>⚠ {visible(warning)}</p>
          ))}
          <VirtualTable name="Stored runs" columns={COLUMNS} rows={rows} />
        </>
      )}
    </>
  );
}
