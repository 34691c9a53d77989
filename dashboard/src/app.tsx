/** The frame of all pages: navigation, theme, keyboard, help. */

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useErrorBoundary, useLayoutEffect, useRef } from "preact/hooks";
import type { Api } from "./data";
import { KEYS, press } from "./keys";
import { asError } from "./load";
import { ApiContext, Heading } from "./page";
import { ComparePage } from "./pages/compare";
import { DocumentPage, DocumentsPage } from "./pages/documents";
import { ExperimentsPage } from "./pages/experiments";
import { LivePage } from "./pages/live";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";
import { StoredPage } from "./pages/stored";
import { TrendsPage } from "./pages/trends";
import { TrialPage } from "./pages/trial";
import { Failure, Notice } from "./parts";
import { type Route, link, useRoute } from "./router";
import { switchTheme } from "./theme";

const PAGES: readonly (readonly [name: string, title: string])[] = [
  ["", "Runs"],
  ["live", "Live"],
  ["compare", "Compare"],
  ["trends", "Trends"],
  ["experiments", "Experiments"],
  ["stored", "Stored"],
  ["documents", "Documents"],
];

export function App({ api }: { api: Api }) {
  const route = useRoute();
  const help = useRef<HTMLDialogElement>(null);
  const showHelp = useCallback(() => help.current?.showModal(), []);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!event.defaultPrevented && press(event, showHelp)) event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  const page = JSON.stringify(route.path);
  useLayoutEffect(() => scrollTo({ top: 0 }), [page]);
  const skip = (event: Event) => {
    event.preventDefault(); // the hash is the address of the page
    document.querySelector<HTMLElement>("h1")?.focus();
  };
  return (
    <ApiContext.Provider value={api}>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Top route={route} api={api} showHelp={showHelp} />
      <main id="main">
        <Guard key={page}>{pageOf(route, api)}</Guard>
      </main>
      <Help dialog={help} />
    </ApiContext.Provider>
  );
}

function pageOf({ path, query }: Route, api: Api): ComponentChildren {
  const [name = "", run, task, trial] = path;
  switch (name) {
    case "":
      return api.documentsOnly ? <DocumentsPage /> : <RunsPage query={query} />;
    case "runs":
      if (run === undefined) return <RunsPage query={query} />;
      if (task === undefined) return <RunPage id={run} query={query} />;
      return <TrialPage run={run} task={task} number={Math.max(1, Number.parseInt(trial ?? "1", 10) || 1)} query={query} />;
    case "compare":
      return <ComparePage query={query} />;
    case "trends":
      return <TrendsPage query={query} />;
    case "live":
      return <LivePage query={query} />;
    case "experiments":
      return <ExperimentsPage />;
    case "stored":
      return <StoredPage />;
    case "documents":
      return run === undefined ? <DocumentsPage /> : <DocumentPage id={run} query={query} />;
    default:
      return (
        <>
          <Heading title="There is no such page" />
          <Notice title="Nothing is at this address">
            <p>
              It may be from another version. <a href={link([])}>All runs</a>
            </p>
          </Notice>
        </>
      );
  }
}

/** A page that breaks says so; the others stay. */
function Guard({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary();
  if (!error) return <>{children}</>;
  return (
    <>
      <Heading title="This page broke" />
      <Failure error={asError(error)} />
    </>
  );
}

function Top({ route, api, showHelp }: { route: Route; api: Api; showHelp: () => void }) {
  const current = route.path[0] === "runs" ? "" : (route.path[0] ?? "");
  const pages = api.served ? PAGES : PAGES.filter(([name]) => name === (api.documentsOnly ? "documents" : ""));
  return (
    <header class="top">
      <div>
        <a class="brand" href={link([])}>
          waza
        </a>
        <nav aria-label="Pages">
          {pages.map(([name, title]) => (
            <a key={name} href={link(name ? [name] : [])} aria-current={name === current ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="tools-top">
          <button type="button" onClick={switchTheme} aria-label="Dark or light" title="Dark or light">
            ◐
          </button>
          <button type="button" onClick={showHelp} aria-label="Keys" title="Keys">
            ?
          </button>
        </div>
      </div>
    </header>
  );
}

function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }) {
  return (
    <dialog ref={dialog} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <table aria-label="Keys">
        <tbody>
          {KEYS.map(([keys, what]) => (
            <tr key={keys}>
              <th scope="row">
                {keys.split(" / ").map((key, i) => (
                  <>
                    {i > 0 && " / "}
                    <kbd>{key}</kbd>
                  </>
                ))}
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <form method="dialog" onSubmit={(event) => (event.preventDefault(), dialog.current?.close())}>
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
