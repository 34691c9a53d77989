/**
 * Where pages get their data from: one interface, two sources.
 *
 * `waza serve` answers over HTTP. `waza report` writes one file that has everything in it: the built script and style
 * sheet inlined, and in the body
 *
 *     <div id="app"></div>
 *     <script type="application/json" id="waza-data">{"version": …, "heads": […], …}</script>
 *
 * with the JSON of `Embedded` (every `<` in it written as \u003c). Elements with the attribute `data-reduced`, such as
 * the reduced form of the report and its style, are removed before the pages are drawn.
 */

import type {
  ComparisonPage,
  ItemPage,
  DocumentPage,
  DocumentSummary,
  Embedded,
  ExperimentPage,
  GraderResult,
  Health,
  History,
  LiveRun,
  PlotNode,
  RunDetail,
  RunHead,
  RunSummary,
  RunsSummary,
  StoredPage,
  StoredRun,
  TaskSummary,
  TrialComparison,
  TrialDetail,
} from "./api";
import { link, linkToRun } from "./router";

/** A part of a list, and how long the whole list is. */
export interface Slice<T> {
  items: T[];
  total: number;
}

/** What of a list is wanted, and in which order. */
export interface Wanted {
  offset: number;
  limit: number;
  q?: string;
  /** `model` and `outcome` of runs, `status` of tasks and items. */
  filters?: Record<string, string | undefined>;
  sort?: string;
  order?: "asc" | "desc";
}

/** The verdicts of a trial or task for a spreadsheet. */
export interface TaskVerdicts {
  task: string;
  outcome: string;
  score: number | null;
  /** Seconds. */
  duration: number | null;
  verdicts: GraderResult[];
}

/** Why there is no answer, for people; `unreadable` where the files of it cannot be read. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly unreadable = false,
  ) {
    super(message);
  }
}

/** What pages can ask. Promises are rejected with an error whose message is for people. */
export interface Api {
  /** Whether there is a server: live runs, comparisons, trends, experiments and stored runs need one. */
  readonly served: boolean;
  /** Whether there are results of evaluation documents; unknown of a server. */
  readonly documentsOnly: boolean;
  /** The hash of the page that it opens with; empty: the list of runs. */
  readonly home: string;
  /** What came with the page about all of its runs, such as the verdict over them. */
  readonly overview: readonly Element[];
  /** The plots of a run that came with the page. */
  plots(run: string): readonly Element[];
  health(): Promise<Health>;
  summary(): Promise<RunsSummary>;
  runs(wanted: Wanted): Promise<Slice<RunSummary>>;
  head(run: string): Promise<RunHead>;
  /** The plots of a run that did not come with the page. */
  drawings(run: string): Promise<PlotNode[]>;
  tasks(run: string, wanted: Wanted): Promise<Slice<TaskSummary>>;
  verdicts(run: string): Promise<TaskVerdicts[]>;
  trial(run: string, task: string, number: number, arm: string): Promise<TrialDetail>;
  compare(a: string, b: string, offset: number, limit: number): Promise<ComparisonPage>;
  compareTrial(a: string, b: string, task: string, trial: number): Promise<TrialComparison>;
  history(): Promise<History>;
  live(): Promise<LiveRun[]>;
  experiments(offset: number, limit: number): Promise<Slice<ExperimentPage>>;
  stored(offset: number, limit: number): Promise<Slice<StoredRun> & { page: StoredPage }>;
  documents(offset: number, limit: number): Promise<Slice<DocumentSummary>>;
  document(id: string, wanted: Wanted): Promise<Slice<ItemPage> & { page: DocumentPage }>;
}

const SLICE = 500; // the most that the server gives at once

/** The address of something in the API; every segment may hold any character. */
export function address(segments: readonly (string | number)[], query: Record<string, string | number | undefined> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  const path = segments.map((segment) => encodeURIComponent(segment).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E")));
  return `/api/${path.join("/")}${search ? `?${search}` : ""}`;
}

export class HttpApi implements Api {
  readonly served = true;
  readonly documentsOnly = false;
  readonly home = "";
  readonly overview = [];
  readonly plots = () => [];

  health = () => this.#get<Health>(["health"]);
  summary = () => this.#get<RunsSummary>(["summary"]);
  runs = (wanted: Wanted) => this.#slice<RunSummary>(["runs"], wanted);
  head = (run: string) => this.#get<RunHead>(["runs", run, "head"]);
  drawings = (run: string) => this.#get<PlotNode[]>(["runs", run, "plots"]);
  tasks = (run: string, wanted: Wanted) => this.#slice<TaskSummary>(["runs", run, "tasks"], wanted);
  trial = (run: string, task: string, number: number, arm: string) =>
    this.#get<TrialDetail>(["runs", run, "tasks", task, "trials", number], { arm: arm === "baseline" ? arm : undefined });
  compare = (a: string, b: string, offset: number, limit: number) => this.#get<ComparisonPage>(["compare"], { a, b, offset, limit });
  compareTrial = (a: string, b: string, task: string, trial: number) =>
    this.#get<TrialComparison>(["compare", "trial"], { a, b, task, trial });
  history = () => this.#get<History>(["history"]);
  live = () => this.#get<LiveRun[]>(["live"]);
  experiments = (offset: number, limit: number) => this.#slice<ExperimentPage>(["experiments"], { offset, limit });
  documents = (offset: number, limit: number) => this.#slice<DocumentSummary>(["documents"], { offset, limit });

  async stored(offset: number, limit: number) {
    const { answer, total } = await this.#answer<StoredPage>(["stored"], { offset, limit });
    return { page: answer, items: answer.runs, total };
  }

  async document(id: string, wanted: Wanted) {
    const { answer, total } = await this.#answer<DocumentPage>(["documents", id], queryOf(wanted));
    return { page: answer, items: answer.items, total };
  }

  async verdicts(run: string): Promise<TaskVerdicts[]> {
    const found: TaskVerdicts[] = [];
    for (;;) {
      const { answer, total } = await this.#answer<RunDetail>(["runs", run], { offset: found.length, limit: SLICE });
      for (const task of answer.tasks)
        found.push({ task: task.name, outcome: task.outcome, score: task.score, duration: task.duration, verdicts: task.graderResults });
      if (!answer.tasks.length || found.length >= total) return found;
    }
  }

  async #slice<T>(segments: readonly string[], wanted: Wanted): Promise<Slice<T>> {
    const { answer, total } = await this.#answer<T[]>(segments, queryOf(wanted));
    return { items: answer, total };
  }

  async #get<T>(segments: readonly (string | number)[], query?: Record<string, string | number | undefined>): Promise<T> {
    return (await this.#answer<T>(segments, query)).answer;
  }

  async #answer<T>(segments: readonly (string | number)[], query?: Record<string, string | number | undefined>) {
    let response: Response;
    try {
      response = await fetch(address(segments, query));
    } catch {
      throw new ApiError("The server does not answer. Is `waza serve` still running?");
    }
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok || answer === undefined) {
      const said = (answer as { error?: unknown } | undefined)?.error;
      throw new ApiError(typeof said === "string" ? said : `The server answered with ${response.status}.`, response.status === 422);
    }
    return { answer: answer as T, total: Number(response.headers.get("X-Total-Count") ?? 0) };
  }
}

function queryOf({ filters, ...wanted }: Wanted): Record<string, string | number | undefined> {
  return { ...wanted, ...filters };
}

const NO_SERVER = "This report is one file and does not have it. `waza serve` shows it.";

export class EmbeddedApi implements Api {
  readonly served = false;
  readonly documentsOnly: boolean;
  readonly home: string;

  readonly overview: readonly Element[];
  readonly #plots: readonly HTMLElement[];

  /**
   * The reduced form `page` has elements that are shown here as well: those with the attribute `data-overview`, and those
   * with `data-plots`, which is the number of a run, from 1.
   */
  constructor(
    readonly data: Embedded,
    page?: Document,
  ) {
    this.documentsOnly = !data.heads.length && Boolean(data.documents.length);
    this.overview = [...(page?.querySelectorAll("[data-overview]") ?? [])];
    this.#plots = [...(page?.querySelectorAll<HTMLElement>("[data-plots]") ?? [])];
    const [only, ...others] = data.heads;
    const [document, ...documents] = data.documents;
    this.home = only && !others.length && !this.overview.length ? linkToRun(only.run.id) : "";
    if (this.documentsOnly && document && !documents.length) this.home = link(["documents", document.document.id]);
  }

  plots(run: string): readonly Element[] {
    const number = this.data.heads.findIndex((head) => head.run.id === run) + 1;
    return this.#plots.filter((one) => one.dataset.plots === String(number));
  }

  health = async (): Promise<Health> => ({ status: "ok", version: this.data.version });
  head = async (run: string) => this.#head(run);
  drawings = async (): Promise<PlotNode[]> => [];
  compare = () => Promise.reject(new Error(NO_SERVER));
  compareTrial = () => Promise.reject(new Error(NO_SERVER));
  history = () => Promise.reject(new Error(NO_SERVER));
  live = async (): Promise<LiveRun[]> => [];
  experiments = async (): Promise<Slice<ExperimentPage>> => ({ items: [], total: 0 });
  stored = () => Promise.reject(new Error(NO_SERVER));

  async summary(): Promise<RunsSummary> {
    const runs = this.data.heads.map((head) => head.run);
    const tasks = sum(runs.map((run) => run.taskCount));
    const passed = sum(runs.map((run) => run.passCount));
    return {
      totalRuns: runs.length,
      totalTasks: tasks,
      passRate: tasks ? (100 * passed) / tasks : 0,
      avgTokens: mean(runs.map((run) => run.tokens)),
      avgPremiumRequests: mean(runs.map((run) => run.premiumRequests)),
      avgAICredits: mean(runs.map((run) => run.aiCredits)),
      avgCost: mean(runs.map((run) => run.cost)),
      costSource: runs.find((run) => run.costSource)?.costSource ?? null,
      avgDuration: mean(runs.map((run) => run.duration)),
      inProgress: 0,
      cutOff: 0,
      unreadable: 0,
    };
  }

  async runs(wanted: Wanted): Promise<Slice<RunSummary>> {
    const found = this.data.heads
      .map((head) => head.run)
      .filter((run) => has(wanted.q, run.id, run.spec, run.model, run.skill))
      .filter((run) => fits(wanted.filters?.model, run.model) && fits(wanted.filters?.outcome, run.outcome));
    return cut(sorted(found, RUN_KEYS[wanted.sort ?? ""], wanted.order ?? "desc"), wanted);
  }

  async tasks(run: string, wanted: Wanted): Promise<Slice<TaskSummary>> {
    this.#head(run);
    const found = (this.data.tasks[run] ?? [])
      .filter((task) => has(wanted.q, task.id, task.name, task.group, ...task.tags))
      .filter((task) => fits(wanted.filters?.status, task.status));
    return cut(sorted(found, TASK_KEYS[wanted.sort || "default"], wanted.order ?? "asc"), wanted);
  }

  async verdicts(run: string): Promise<TaskVerdicts[]> {
    const first = new Map<string, TrialDetail>();
    for (const trial of this.data.trials[run] ?? [])
      if (trial.arm === "main" && trial.number <= (first.get(trial.task)?.number ?? Number.POSITIVE_INFINITY))
        first.set(trial.task, trial);
    return (this.data.tasks[run] ?? []).map((task) => ({
      task: task.name,
      outcome: task.status,
      score: task.score,
      duration: task.durationMs === null ? null : task.durationMs / 1000,
      verdicts: (first.get(task.id)?.checks ?? []).map((check) => ({ ...check, message: check.feedback })),
    }));
  }

  async trial(run: string, task: string, number: number, arm: string): Promise<TrialDetail> {
    const found = this.data.trials[run]?.find((one) => one.task === task && one.number === number && one.arm === (arm || "main"));
    if (!found) throw new Error("This trial is not in the report. `waza show` and `waza serve` show it.");
    return found;
  }

  documents = async (offset: number, limit: number): Promise<Slice<DocumentSummary>> =>
    cut(this.data.documents.map((one) => one.document), { offset, limit });

  async document(id: string, wanted: Wanted) {
    const page = this.data.documents.find((one) => one.document.id === id);
    if (!page) throw new Error(`There is no document ${id} in the report.`);
    const found = page.items
      .filter((item) => fits(wanted.filters?.status, item.status))
      .filter((item) => !wanted.q || JSON.stringify(item).toLowerCase().includes(wanted.q.toLowerCase()));
    return { page, ...cut(found, wanted) };
  }

  #head(run: string): RunHead {
    const found = this.data.heads.find((head) => head.run.id === run);
    if (!found) throw new Error(`There is no run ${run} in the report.`);
    return found;
  }
}

type Key<T> = (one: T) => string | number | null;

const RUN_KEYS: Record<string, Key<RunSummary>> = {
  timestamp: (run) => Date.parse(run.timestamp) || null,
  tokens: (run) => run.tokens,
  cost: (run) => run.cost,
  duration: (run) => run.duration,
  spec: (run) => run.spec.toLowerCase(),
  model: (run) => run.model.toLowerCase(),
  passRate: (run) => run.successRate,
  score: (run) => run.score,
  weightedScore: (run) => run.weightedScore,
  tasks: (run) => run.taskCount,
};

const ending: Key<TaskSummary> = (task) => ["error", "failed", "cut off", "skipped", "in progress", "passed", "not started"].indexOf(task.status);

// "order" has no key: it is the order in which the tasks are embedded.
const TASK_KEYS: Record<string, Key<TaskSummary>> = {
  default: ending,
  name: (task) => task.name.toLowerCase(),
  status: ending,
  score: (task) => task.score,
  weightedScore: (task) => task.weightedScore,
  duration: (task) => task.durationMs,
  tokens: (task) => task.tokens,
};

/** Sort by a key, if there is one; what is not known comes last. */
function sorted<T>(items: readonly T[], key: Key<T> | undefined, order: "asc" | "desc"): T[] {
  if (!key) return [...items];
  const sign = order === "desc" ? -1 : 1;
  return [...items].sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return a === b ? 0 : a < b ? -sign : sign;
  });
}

const fits = (wanted: string | undefined, value: string) => !wanted || wanted === value;

const has = (wanted: string | undefined, ...texts: readonly string[]) =>
  !wanted || texts.some((text) => text.toLowerCase().includes(wanted.toLowerCase()));

const cut = <T>(items: readonly T[], { offset, limit }: { offset: number; limit: number }): Slice<T> => ({
  items: items.slice(offset, offset + limit),
  total: items.length,
});

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length ? sum(known) / known.length : null;
}

/** The data of this page: those embedded in it, else those of its server. */
export function openApi(): Api {
  const embedded = document.getElementById("waza-data")?.textContent;
  if (!embedded) return new HttpApi();
  return new EmbeddedApi(JSON.parse(embedded) as Embedded, document);
}
