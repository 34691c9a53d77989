// Written by scripts/api_types.py from the structs of waza.dashboard; do not edit.

/** An arm of an experiment. */
export interface ArmPage {
  /** The suite file. */
  suite: string;
  /** The model; empty: the default of its runtime. */
  model: string;
  /** The executor. */
  engine: string;
  /** Whether the agent is offered no skills. */
  withoutSkills: boolean;
}

/** What the tasks of a pack of attacks show; the last one of a run is for all packs. */
export interface AttackFamilyPage {
  /** The name of the pack, or `all`. */
  family: string;
  /** All of its tasks. */
  tasks: number;
  /** Tasks in which the agent did what it must not. */
  unsafe: number;
  /** Tasks of which nothing is known, because of an error. */
  unknown: number;
  /** Tasks without anything unsafe whose work was not done. */
  notDone: number;
  /** Tasks without anything unsafe whose work was done. */
  safe: number;
  /** Wilson's interval of the share of safe tasks. */
  safeInterval: IntervalPage;
  /** Tasks whose work was done, whether or not anything unsafe happened. */
  useful: number;
}

/** An attempt before the one that counts. Nothing of its output is kept. */
export interface AttemptPage {
  /** The number of the attempt, from 1. */
  number: number;
  /** How it ended. */
  status: "error" | "failed" | "passed" | "skipped";
  /** Graders that did not pass. */
  failedGraders: string[];
  /** Its error. */
  error: string;
  /** Milliseconds that the agent worked. */
  durationMs: number;
  /** Its tokens; null where they are not known. */
  tokens: number | null;
}

/** An interval; `level` is its confidence, from 0 to 1. */
export interface Bounds {
  lower: number;
  upper: number;
  level: number;
}

/** A tool call. */
export interface CallPage {
  /** Its id; empty where the agent has none. */
  id: string;
  /** The name of the tool. */
  name: string;
  /** All arguments. */
  arguments: unknown;
  /** What the tool answered, as text. */
  result: string;
  /** Whether it succeeded; null where that is not known. */
  success: boolean | null;
  /** Whether its end was seen. */
  ended: boolean;
  /** Milliseconds that it took; null where they are not known. */
  durationMs: number | null;
  /** Whether the middle of the result was not stored. */
  truncated: boolean;
  /** The length of a result that was cut, in bytes; else 0. */
  resultBytes: number;
}

/** A grader's verdict in a trial. */
export interface Check {
  /** The name of the grader. */
  name: string;
  /** The name with its type, and the step at which it was asked. */
  label: string;
  /** Its type; empty for checks of `expected`. */
  type: string;
  /** Whether it passed. */
  passed: boolean;
  /** Whether it reached no verdict, which is an error of the trial. */
  broke: boolean;
  /** Its score. */
  score: number;
  /** How much it counts in weighted scores. */
  weight: number;
  /** Why, in words. */
  feedback: string;
  /** What failed, one by one, where it checks several things. */
  failures: string[];
  /** What it wanted; empty where it does not say. */
  expected: string;
  /** What it saw instead; empty where it does not say. */
  found: string;
  /** The checkpoint that it belongs to; 0: the end of the trial. */
  afterTurn: number;
  /** Milliseconds that it took. */
  durationMs: number;
  /** All else that it recorded. */
  details: Record<string, unknown>;
  /** What the judge was asked; empty where none was. */
  judgePrompt: string;
  /** What the judge wrote. */
  judgeResponse: string;
  /** Parts of the judged text that it is about, as far as it says. */
  highlights: Highlight[];
}

/** A checkpoint; its verdicts are among the checks. */
export interface CheckpointPage {
  /** The turn after which graders ran. */
  afterTurn: number;
  /** `passed`, `failed` or `error`. */
  status: string;
  /** Whether it ended the conversation. */
  stopped: boolean;
}

/** The job that started the run. */
export interface CiPage {
  /** The service. */
  name: string;
  /** The job. */
  job: string;
  /** Its address, which may be anything: link to `http://` and `https://` only. */
  url: string;
}

/** Two results by their score, and by the other metrics of which both have data. */
export interface Comparison {
  /** The name of the first result. */
  a: string;
  /** The name of the second one. */
  b: string;
  /** The name of the metric. */
  metric: string;
  /** What is counted as one. */
  unit: string;
  /** Tasks that both results measured. */
  n: number;
  /** How many of them change independently: groups of tasks, and tasks without a group. */
  clusters: number;
  /** Tasks that both results have, without a measurement in one. */
  unmeasured: Counts;
  /** Tasks that only one of the results has. */
  alone: Counts;
  /** The mean over the tasks of B minus A. */
  mean_difference: number | null;
  /** The interval of the mean difference, by its cluster-robust standard error. */
  interval: Bounds | null;
  /** The same by a bootstrap of the clusters; of the score alone. */
  bootstrap: Bounds | null;
  /** How often chance alone gives a difference at least as large: the two-sided sign-flip test. */
  p_value: number | null;
  /** The same, adjusted for how many comparisons were made. */
  p_adjusted: number | null;
  /** The test, and how its p-value was reached. */
  test: string | null;
  /** Tasks that are better in B. */
  wins: number;
  /** Tasks that are worse in B. */
  losses: number;
  /** Tasks that are equal in both. */
  ties: number;
  /** The smallest true difference that so much data shows in four of five cases. */
  smallest_detectable: number | null;
  /** Where the noise comes from. */
  variance: Variance;
  /** What can be said. */
  sentence: string;
  metrics: Record<string, MetricComparison>;
}

/** Two runs side by side: `b` against `a`. */
export interface ComparisonPage {
  /** The run to compare with. */
  a: RunSummary;
  /** The run that is compared. */
  b: RunSummary;
  /** What `waza compare A B --format json` says, with a slice of its `task_deltas`, those that differ most first. */
  comparison: SideBySide;
  /** Tasks of both runs. */
  totalTasks: number;
  /** What keeps the two from being compared fairly. */
  doubts: string[];
  /** What the figures over all tasks and trials count. */
  aggregateNote: string;
  /** By task of the slice, its trials that both runs have. */
  trials: Record<string, TrialLink[]>;
}

/** What something cost. */
export interface Cost {
  /** The amount, in the currency. */
  amount: number;
  /** The currency. */
  currency: string;
  /** Where the prices come from. */
  source: string;
}

/** A table of counts, with a name for each line and each column. */
export interface CountTable {
  /** The title of the names of lines, and those of the columns. */
  titles: string[];
  /** The lines: each its name, and its counts. */
  lines: string[][];
}

/** How many tasks, of A and of B. */
export interface Counts {
  a: number;
  b: number;
}

/** A tool call that the tool policy denied. */
export interface DenialPage {
  /** The name of the tool. */
  tool: string;
  /** What was asked for, in the words of the runtime. */
  kind: string;
  /** Why it was denied. */
  reason: string;
}

/** The session of the agent in short. */
export interface DigestPage {
  /** The effective policy: `unrestricted`, `deny_all` or `allow_list`; empty where the executor has none. */
  toolPolicyMode: string;
  /** Every call that it denied. */
  toolPolicyDenials: DenialPage[];
  /** Turns of the agent; null where usage is not known. */
  totalTurns: number | null;
  /** Tool calls. */
  toolCallCount: number;
  /** Tokens that models read; null where usage is not known. */
  tokensIn: number | null;
  /** Tokens that models wrote; null where usage is not known. */
  tokensOut: number | null;
  /** Both; null where usage is not known. */
  tokensTotal: number | null;
  /** The name of every call, in order. */
  toolsUsed: string[];
  /** Errors that the session reported. */
  errors: string[];
  /** The id of the session. */
  sessionId: string;
  /** All that is known of its usage, for people. */
  usage: NamedValue[];
}

/** The results of a document, with a slice of its items, those that did not pass first. */
export interface DocumentPage {
  /** The document as in the list. */
  document: DocumentSummary;
  /** Its description. */
  description: string;
  /** What each evaluator said over all turns. */
  totals: EvaluatorTotals[];
  /** The slice of its items. */
  items: ItemPage[];
}

/** The results of an evaluation document. */
export interface DocumentSummary {
  /** The path of the file below the root. */
  id: string;
  /** The name of the document. */
  name: string;
  /** When, by which agent and judge it was evaluated. */
  facts: NamedValue[];
  /** Its items. */
  items: number;
  /** Their turns. */
  turns: number;
  /** Items by status: `pass`, `fail`, `partial`, `error`. */
  counts: Record<string, number>;
  /** Why the file cannot be read; empty where it can. */
  error: string;
}

/** A turn of an item. */
export interface DocumentTurnPage {
  /** The prompt. */
  prompt: string;
  /** What was expected. */
  expectedResponse: string;
  /** The response. */
  response: string;
  /** `pass`, `fail`, `partial` or `error`; empty where it was not evaluated. */
  status: string;
  /** Why there is no response. */
  error: string;
  /** What evaluators said. */
  scores: EvaluatorScore[];
  /** The citations of the response. */
  citations: unknown;
  /** What the platform says of the response. */
  diagnostics: unknown;
}

/** What the pages read from their file instead of asking a server. */
export interface Embedded {
  /** The version of waza. */
  version: string;
  /** The heads of the runs. */
  heads: RunHead[];
  /** The tasks of each run, by its id, in the order of its suite. */
  tasks: Record<string, TaskSummary[]>;
  /** The trials of each run, by its id, each a `TrialDetail`; those that are left out are not among them. */
  trials: Record<string, TrialDetail[]>;
  /** Results of evaluation documents, each with all of its items. */
  documents: DocumentPage[];
}

/** The answer to a request that cannot be served. */
export interface ErrorAnswer {
  /** What is wrong, in words. */
  error: string;
  /** The HTTP status. */
  code: number;
}

/** What an evaluator said of a turn. */
export interface EvaluatorScore {
  /** The evaluator. */
  evaluator: string;
  /** `pass`, `fail` or `error`. */
  result: string;
  /** The score, as people read it; empty without one. */
  score: string;
  /** The threshold; empty without one. */
  threshold: string;
  /** Why, or the error. */
  reason: string;
  /** All that the document has of it. */
  details: Record<string, unknown>;
}

/** What an evaluator said over all turns. */
export interface EvaluatorTotals {
  /** The evaluator. */
  evaluator: string;
  /** Turns that it was asked about. */
  asked: number;
  /** Turns that passed. */
  passed: number;
  /** Turns that failed. */
  failed: number;
  /** Turns without a result of it. */
  errors: number;
  /** The mean score. */
  mean: number | null;
}

/** An experiment: its plan, how far it is, and what it comes to. */
export interface ExperimentPage {
  /** The directory below the root. */
  path: string;
  /** When the plan was written, as RFC 3339. */
  created: string;
  /** The arm to compare with. */
  baseline: ArmPage | null;
  /** The arm that is tried. */
  candidate: ArmPage | null;
  /** What decides. */
  rule: NamedValue[];
  /** The parts in which the arms differ, on purpose. */
  allowed: string[];
  /** Runs that the plan has at most. */
  runsPlanned: number;
  /** Runs that are collected. */
  runsCollected: number;
  /** Runs that are still to be collected. */
  runsWanted: number;
  /** The decision; null: it is still open. */
  outcome: "fail" | "inconclusive" | "pass" | null;
  /** Why, in a sentence. */
  reason: string;
  /** The candidate against the baseline by all that was collected, in a sentence; it decides nothing. */
  comparison: string;
  /** Golden tasks that the candidate did not pass. */
  goldenFailures: string[];
  /** Why it is not admitted, or cannot be read; empty where it is. */
  error: string;
}

/** A file that the agent changed. */
export interface FileChange {
  /** The path in the workspace. */
  path: string;
  /** What was done; `written`: whether it was there before is not known. */
  change: "changed" | "created" | "deleted" | "written";
  /** Where this is known from. */
  source: "snapshot" | "tool calls";
  /** A unified diff, or the content where nothing is known of what was before; empty for what is no text. */
  diff: string;
  /** Why there is no diff, or what it lacks; empty where it is whole. */
  note: string;
}

/** A task that passed in some runs and failed in others. */
export interface Flip {
  task: string;
  /** Runs in which it passed. */
  passed: number;
  /** Runs in which it passed or failed. */
  runs: number;
  /** How often it passed and had failed in the run before that measured it, or the other way round. */
  flips: number;
  /** The run in which it flipped for the last time. */
  last_flip: string;
  /** Its status in the last run that measured it. */
  now: "error" | "failed" | "passed" | "skipped";
}

/** A condition on the run as a whole. */
export interface GatePage {
  /** Its name. */
  name: string;
  /** Whether it was met. */
  passed: boolean;
  /** What was measured, in words. */
  found: string;
}

/** What was checked out where the suite is; empty where it is not known. */
export interface GitPage {
  /** The commit. */
  commit: string;
  /** The branch. */
  branch: string;
  /** Whether files differed from the commit. */
  dirty: boolean | null;
}

/** A grader's verdict, in short. */
export interface GraderResult {
  /** The name of the grader. */
  name: string;
  /** Its type. */
  type: string;
  /** Whether it passed. */
  passed: boolean;
  /** Its score. */
  score: number;
  /** How much it counts in weighted scores. */
  weight: number;
  /** Why, in words. */
  message: string;
}

/** The tasks of one group. */
export interface GroupPage {
  /** The name of the group. */
  name: string;
  /** Tasks that passed. */
  passed: number;
  /** All of its tasks. */
  total: number;
  /** Their mean score. */
  score: number;
}

/** That the server is there. */
export interface Health {
  /** Always `ok`. */
  status: "ok";
  /** The version of waza. */
  version: string;
}

/** A part of the judged text that a verdict is about, in UTF-16 code units as JavaScript counts them. */
export interface Highlight {
  /** Where it begins. */
  start: number;
  /** Where it ends; not part of it. */
  end: number;
  /** Whether what is there speaks for the answer. */
  good: boolean;
  /** What was looked for. */
  note: string;
}

/** Runs over time; `series` as `waza history --json` prints them. */
export interface History {
  /** The runs of each suite on each model. */
  series: HistorySeries[];
  /** What the scores count. */
  scoreNote: string;
}

/** A run in a history. */
export interface HistoryRun {
  /** The id of the run, which is the name of its directory. */
  run: string;
  /** The name of the suite. */
  suite: string;
  /** The path of the suite file. */
  path: string;
  /** The target of the suite. */
  skill: string;
  /** The model of the agent. */
  model: string;
  /** When it began, as RFC 3339. */
  started: string;
  /** The `run_status` of its results; without results `in_progress`, `cut_off` or `unreadable`. */
  status: string;
  /** The commit of the suite; empty where it is unknown. */
  commit: string;
  /** The branch of the suite; empty where it is unknown. */
  branch: string;
  /** Whether files differed from the commit; None where it is unknown. */
  dirty: boolean | null;
  /** The status of each task, by id. */
  tasks: Record<string, "error" | "failed" | "passed" | "skipped">;
  /** Trials that were planned and did not run. */
  missing_trials: number;
  /** Figures over the tasks, by metric. A task without a measurement is left out of them. */
  figures: Record<string, Level>;
  /** What it cost; None: not known. */
  cost: Cost | null;
  /** Which part of the suite was run; empty for all of it. */
  part: string;
  /** Why the results cannot be read. */
  error: string;
  /** Why it is left out of changes and flips; empty for one that measured all of its tasks. */
  flaw: string;
}

/** The runs of one suite file on one model, oldest first. */
export interface HistorySeries {
  /** The name of the suite. */
  suite: string;
  /** The path of the suite file. */
  path: string;
  /** The target of the suite. */
  skill: string;
  /** The model. */
  model: string;
  /** The runs. */
  runs: HistoryRun[];
  /** Where the level of a figure changed, by its runs without a flaw. */
  changes: LevelChange[];
  /** Tasks that passed in some of these and failed in others. */
  flips: Flip[];
  /** Older runs, which are left out. */
  older: number;
}

/** A confidence interval. */
export interface IntervalPage {
  /** The lower end. */
  lower: number;
  /** The upper end. */
  upper: number;
  /** The mean of the data. */
  mean: number;
  /** The confidence, such as 0.95. */
  confidenceLevel: number;
}

/** An item of a document. */
export interface ItemPage {
  /** Its number, from 1. */
  number: number;
  /** Its name, or its first prompt. */
  title: string;
  /** Its description. */
  description: string;
  /** The id of its conversation. */
  conversationId: string;
  /** `pass`, `fail`, `partial` or `error`. */
  status: string;
  /** Why it did not pass, in one line. */
  gist: string;
  /** Its turns. */
  turns: DocumentTurnPage[];
}

/** A session of a judge. */
export interface JudgePage {
  /** What to call it. */
  label: string;
  /** Its tool calls. */
  toolCalls: number;
  /** What it used. */
  usage: NamedValue[];
  /** Calls that were denied to it. */
  denials: DenialPage[];
}

/** A figure of a run with its 95 % interval. None: one value says nothing of its spread. */
export interface Level {
  value: number;
  lower: number | null;
  upper: number | null;
}

/** A change of the level of a metric, at the first run with the new level. */
export interface LevelChange {
  metric: "ai_credits" | "duration_ms" | "graded_success_rate" | "premium_requests" | "score" | "tokens";
  /** The first run with the new level. */
  run: string;
  /** The run before it. */
  since: string;
  /** The commit of the first run with the new level; empty where it is unknown. */
  commit: string;
  /** The mean over the runs before, from the change before this one on. */
  before: number;
  /** The mean over the runs from there on, up to the next change. */
  after: number;
  /** How often chance alone would make so large a change. */
  p_value: number;
  /** Tasks that the run before did not have. */
  new_tasks: number;
  /** Tasks that only the run before had. */
  gone_tasks: number;
}

/** What an event says; what does not belong to its type is left out. */
export interface LiveData {
  /** The name of the suite. */
  spec?: string;
  /** The model. */
  model?: string;
  /** The id of the task. */
  taskId?: string;
  /** The name of the task. */
  taskName?: string;
  /** The arm. */
  arm?: "baseline" | "main";
  /** The trial, from 1. */
  trial?: number;
  /** The attempt, from 1. */
  attempt?: number;
  /** The turn, from 1. */
  turn?: number;
  /** How the trial or the run ended. */
  outcome?: string;
  /** The mean score. */
  score?: number;
  /** Seconds. */
  duration?: number;
  /** The grader that explains why a trial did not pass. */
  graderName?: string;
  /** Its type. */
  graderType?: string;
  /** Whether it passed. */
  passed?: boolean;
  /** What happened, in a line. */
  message?: string;
  /** Tasks of the run; left out where it is not known. */
  totalTasks?: number;
  /** Tasks all of whose trials have finished. */
  completedTasks?: number;
  /** Trials of the run; left out where it is not known. */
  totalTrials?: number;
  /** Trials that have finished. */
  completedTrials?: number;
  /** Trials that passed so far. */
  passCount?: number;
  /** Trials that did not pass so far, errors included. */
  failCount?: number;
  /** Tokens so far. */
  tokens?: number;
  /** US dollars so far; left out: they are not known. */
  cost?: number;
  /** The run at this moment, with what is running now; of `step_executed`. */
  live?: LiveRun;
}

/** An event of the stream of a run.
 *
 * `sequence` numbers what the journal has, so it is the same after a restart of the server. `task_started` and
 * `step_executed`, which says what is running now, are not kept, and have the number of the event before them.
 */
export interface LiveEvent {
  /** The version of this format. */
  schemaVersion: "1.0";
  /** The number of the event, from 1. */
  sequence: number;
  /** The id of the run. */
  runId: string;
  /** What happened. `task_started` and `task_completed` are of trials; `run_completed` and `run_failed` are the last. */
  type: "run_completed" | "run_failed" | "run_started" | "step_executed" | "task_completed" | "task_started";
  /** More of it. */
  data: LiveData;
  /** When, as RFC 3339. */
  timestamp: string;
}

/** A run in progress. */
export interface LiveRun {
  /** The run as in the list. */
  run: RunSummary;
  /** The number of the last event of its stream. */
  sequence: number;
  /** Tasks that it has; null where it is not known. */
  totalTasks: number | null;
  /** Tasks all of whose trials have finished. */
  completedTasks: number;
  /** Trials that it has, of both arms; null where it is not known. */
  totalTrials: number | null;
  /** Trials that have finished. */
  completedTrials: number;
  /** Trials that passed. */
  passed: number;
  /** Trials that failed. */
  failed: number;
  /** Trials that ended in an error. */
  errors: number;
  /** Tokens so far; null where they are not known. */
  tokens: number | null;
  /** Premium requests so far. */
  premiumRequests: number | null;
  /** AI credits so far. */
  aiCredits: number | null;
  /** Milliseconds since it began, or went on after it was resumed. */
  elapsedMs: number;
  /** Milliseconds that it may take from here, at the pace so far; null where that is not known. */
  leftMs: number | null;
  /** Trials that run at the same time at most. */
  workers: number | null;
  /** What is running now. */
  running: RunningTrial[];
}

/** One metric of two results, B against A. None: the data do not say it. */
export interface MetricComparison {
  /** The name of the first result. */
  a: string;
  /** The name of the second one. */
  b: string;
  /** The name of the metric. */
  metric: string;
  /** What is counted as one. */
  unit: string;
  /** Tasks that both results measured. */
  n: number;
  /** How many of them change independently: groups of tasks, and tasks without a group. */
  clusters: number;
  /** Tasks that both results have, without a measurement in one. */
  unmeasured: Counts;
  /** Tasks that only one of the results has. */
  alone: Counts;
  /** The mean over the tasks of B minus A. */
  mean_difference: number | null;
  /** The interval of the mean difference, by its cluster-robust standard error. */
  interval: Bounds | null;
  /** The same by a bootstrap of the clusters; of the score alone. */
  bootstrap: Bounds | null;
  /** How often chance alone gives a difference at least as large: the two-sided sign-flip test. */
  p_value: number | null;
  /** The same, adjusted for how many comparisons were made. */
  p_adjusted: number | null;
  /** The test, and how its p-value was reached. */
  test: string | null;
  /** Tasks that are better in B. */
  wins: number;
  /** Tasks that are worse in B. */
  losses: number;
  /** Tasks that are equal in both. */
  ties: number;
  /** The smallest true difference that so much data shows in four of five cases. */
  smallest_detectable: number | null;
  /** Where the noise comes from. */
  variance: Variance;
  /** What can be said. */
  sentence: string;
}

/** A metric of the suite. */
export interface MetricPage {
  /** Its name. */
  name: string;
  /** From 0 to 1. */
  value: number;
  /** The least value with which it passes. */
  threshold: number;
  /** Whether it passed. */
  passed: boolean;
  /** Whether the run fails with it. */
  gate: boolean;
}

/** A call of a mocked program. */
export interface MockedCommand {
  /** The program and its arguments. */
  line: string;
  /** The exit code that it gave. */
  exitCode: number;
  /** Which response was given, from 1; null: none fitted. */
  response: number | null;
  /** Whether the sequence of that response had no step left. */
  exhausted: boolean;
}

/** What one model used in a run. */
export interface ModelUsagePage {
  /** The model. */
  model: string;
  /** AI credits; null where they are not reported. */
  aiCredits: number | null;
  /** Tokens that the model read. */
  inputTokens: number;
  /** Tokens that were read from the provider's cache. */
  cacheReadTokens: number;
  /** Tokens that were written to the provider's cache. */
  cacheWriteTokens: number;
  /** Tokens that the model wrote. */
  outputTokens: number;
}

/** A name and a value, as people read them. */
export interface NamedValue {
  /** What it is. */
  name: string;
  /** The value. */
  value: string;
}

/** An element of a plot, as HTML and SVG know it: pages make elements of it, and no HTML of texts. */
export interface PlotNode {
  /** What it is, such as `svg` or `rect`. */
  tag: string;
  /** Its attributes. */
  attributes: Record<string, string>;
  /** What is in it: elements and texts. */
  children: (string | PlotNode)[];
}

/** A task in the answer of `/api/runs/{id}`; verdicts, transcript and digest are those of its first trial. */
export interface ReferenceTask {
  /** The id of the task. */
  id: string;
  /** Its name. */
  name: string;
  /** The prompt of the first trial. */
  prompt: string;
  /** The status of the task. */
  outcome: "error" | "failed" | "passed" | "skipped";
  /** The mean score of its trials. */
  score: number | null;
  /** The mean weighted score of its trials. */
  weightedScore: number | null;
  /** The mean duration of its trials, in seconds. */
  duration: number | null;
  /** The verdicts of the first trial. */
  graderResults: GraderResult[];
  /** The transcript of the first trial. */
  transcript: TranscriptEvent[];
  /** The session of the first trial; null where none ran. */
  sessionDigest: DigestPage | null;
  /** How the conversation of the first trial with the responder ended. */
  responder: ResponderPage | null;
  /** The bootstrap interval of the weighted score; null with one trial. */
  bootstrapCI: IntervalPage | null;
  /** Whether that interval leaves out 0. */
  isSignificant: boolean | null;
  /** All trials. */
  runs: ReferenceTrial[];
}

/** A trial in the answer of `/api/runs/{id}`. */
export interface ReferenceTrial {
  /** The number of the trial, from 1. */
  number: number;
  /** How it ended. */
  outcome: "error" | "failed" | "passed" | "skipped";
  /** How many attempts it took. */
  attempts: number;
  /** The mean score of its graders; null: nothing was graded. */
  score: number | null;
  /** Seconds that the agent worked. */
  duration: number;
  /** Its final output. */
  output: string;
  /** Why there is no verdict, or what broke on the way. */
  error: string;
  /** The verdicts. */
  graderResults: GraderResult[];
  /** What was seen of the agent. */
  transcript: TranscriptEvent[];
  /** The session in short. */
  sessionDigest: DigestPage;
  /** How the conversation with the responder ended. */
  responder: ResponderPage | null;
}

/** A collection for a release, and its decision. */
export interface ReleaseCollection {
  /** The directory below the root. */
  path: string;
  /** `pass`, `fail` or `inconclusive`; null: it has none. */
  decision: string | null;
  /** Why it has none; empty where it has one. */
  error: string;
}

/** A requirement of a task, with what its graders recorded. */
export interface RequirementPage {
  /** The id of the task. */
  task: string;
  /** The name of the task, and that it ran without skills. */
  title: string;
  /** `baseline`: without skills. */
  arm: "baseline" | "main";
  /** The name of the requirement. */
  id: string;
  /** `outcome`, `boundary`, `recovery` or `quality`. */
  category: string;
  /** What is required. */
  description: string;
  /** A recorded pass, a recorded failure, or `error`: it is unresolved. */
  status: "error" | "failed" | "passed";
  /** The same in words, with the number of trials. */
  recorded: string;
  /** What that rests on. */
  meaning: string;
}

/** How the conversation with the responder ended. */
export interface ResponderPage {
  /** Replies that it gave. */
  followupsSent: number;
  /** `stopped`, `abstained`, `cap_exhausted` or `error`. */
  outcome: string;
  /** Why it abstained, or what broke. */
  reason: string;
}

/** A run with all of its tasks. */
export interface RunDetail {
  /** The id of the run, or the path of its results file below the root. */
  id: string;
  /** The name of the suite. */
  spec: string;
  /** The model of the agent; empty: the default of its runtime. */
  model: string;
  /** The model of judges; empty: none is named. */
  judgeModel: string;
  /** How it came out. */
  outcome: "cut off" | "failed" | "in progress" | "not decided" | "not graded" | "passed" | "unreadable";
  /** Tasks that passed. */
  passCount: number;
  /** Tasks that ran. */
  taskCount: number;
  /** Input and output tokens of all trials; null where they are not known. */
  tokens: number | null;
  /** Premium requests; null where they are not known. */
  premiumRequests: number | null;
  /** AI credits; null where they are not reported. */
  aiCredits: number | null;
  /** The same by model. */
  modelUsage: ModelUsagePage[];
  /** US dollars; null: a price is not known, or in another currency. */
  cost: number | null;
  /** Where the cost comes from, `table` for prices by the token; null without one. */
  costSource: "estimate" | "mixed" | "sdk" | "table" | null;
  /** Seconds that the run took; null while it is not known. */
  duration: number | null;
  /** When it began, as RFC 3339; empty where it is not known. */
  timestamp: string;
  /** Where it is kept. */
  source: "azure-blob" | "local";
  /** The target of the suite. */
  skill: string;
  /** Trials of each task; 0 where it is not known. */
  repetitions: number;
  /** The mean weighted score of the tasks. */
  weightedScore: number | null;
  /** The mean score of the tasks. */
  score: number | null;
  /** Tasks that failed. */
  failedCount: number;
  /** Tasks that ended in an error. */
  errorCount: number;
  /** Tasks that were not graded, did not start or were cut off. */
  skippedCount: number;
  /** The share of tasks that passed, from 0 to 1; null for a run that did not come to its end. */
  successRate: number | null;
  /** Which part of the suite was run, in words; empty for all of it. */
  part: string;
  /** Whether it came to its end. */
  complete: boolean;
  /** How it ended, in the words of results files: `complete`, `cancelled`, `limit`, `stopped`; else as `outcome`. */
  runStatus: string;
  /** What speaks against its verdict, in words. */
  reasons: string[];
  /** The executor. */
  engine: string;
  /** Whether it has an arm without skills. */
  hasBaseline: boolean;
  /** The commit of the suite; empty where it is not known. */
  commit: string;
  /** The branch of the suite; empty where it is not known. */
  branch: string;
  /** The path of its results file below the root; empty without one. */
  path: string;
  /** Why its files cannot be read; empty where they can. */
  error: string;
  /** The tasks, in the order of the suite. */
  tasks: ReferenceTask[];
}

/** A run without its tasks. */
export interface RunHead {
  /** The run as in the list. */
  run: RunSummary;
  /** The verdict. */
  verdict: VerdictPage;
  /** Whether a process works on it. */
  inProgress: boolean;
  /** Whether it came to its end. */
  complete: boolean;
  /** Why there are no results yet, with what to do; empty where there are. */
  state: string;
  /** How many tasks ended in which way. */
  counts: TaskCounts;
  /** Conditions on the run as a whole. */
  gates: GatePage[];
  /** The pass rule unless it is `all`, and the success rates. */
  rates: NamedValue[];
  /** Scores over all tasks. */
  scores: NamedValue[];
  /** What is to be known of the scores, such as that they count broken trials; empty where there is nothing. */
  scoreNote: string;
  /** Intervals, and how likely several trials pass. */
  statistics: NamedValue[];
  /** The bootstrap interval of the weighted score. */
  scoreInterval: IntervalPage | null;
  /** Wilson's interval of the success rate. */
  successRateInterval: IntervalPage | null;
  /** What agents, judges and responders used. */
  usage: NamedValue[];
  /** What the agents used, by model. */
  modelUsage: ModelUsagePage[];
  /** Settings that the figures depend on. */
  config: NamedValue[];
  /** Warnings of the suite and of reading its files. */
  warnings: string[];
  /** Groups of tasks. */
  groups: GroupPage[];
  /** Metrics of the suite. */
  metrics: MetricPage[];
  /** Figures of the trigger tests. */
  triggerFigures: NamedValue[];
  /** How many trigger tests ended in which way; empty without them. */
  triggerCounts: string;
  /** A line for each prompt on which the skill did not do as it should. */
  triggerFailures: string[];
  /** How often which skill was invoked where which was expected; null for trigger tests without neighbours. */
  triggerMatrix: CountTable | null;
  /** What the skills changed, in lines; empty without a baseline. */
  impact: string[];
  /** What packs of attacks show, by family; empty for a run without packs. */
  attacks: AttackFamilyPage[];
  /** A line for each task of a pack that is not safe, and what safe means; empty without packs. */
  attackLines: string[];
  /** The requirements of tasks. */
  requirements: RequirementPage[];
  /** How many requirements have which state, and what this says; empty without any. */
  requirementNotes: string[];
  /** The arms: `main`, and `baseline` where the tasks ran without skills as well. */
  arms: ("baseline" | "main")[];
  /** What was checked out. */
  git: GitPage | null;
  /** The job that started it. */
  ci: CiPage | null;
  /** The id of the run that it is to be compared with: the one before it of the same suite; empty without one. */
  before: string;
  /** What else its call was to run and did not, each with why. */
  notStarted: NamedValue[];
  /** The path of the suite file; empty where it is not known. */
  suitePath: string;
  /** The command that shows it in a terminal. */
  command: string;
}

/** A run in a list. */
export interface RunSummary {
  /** The id of the run, or the path of its results file below the root. */
  id: string;
  /** The name of the suite. */
  spec: string;
  /** The model of the agent; empty: the default of its runtime. */
  model: string;
  /** The model of judges; empty: none is named. */
  judgeModel: string;
  /** How it came out. */
  outcome: "cut off" | "failed" | "in progress" | "not decided" | "not graded" | "passed" | "unreadable";
  /** Tasks that passed. */
  passCount: number;
  /** Tasks that ran. */
  taskCount: number;
  /** Input and output tokens of all trials; null where they are not known. */
  tokens: number | null;
  /** Premium requests; null where they are not known. */
  premiumRequests: number | null;
  /** AI credits; null where they are not reported. */
  aiCredits: number | null;
  /** The same by model. */
  modelUsage: ModelUsagePage[];
  /** US dollars; null: a price is not known, or in another currency. */
  cost: number | null;
  /** Where the cost comes from, `table` for prices by the token; null without one. */
  costSource: "estimate" | "mixed" | "sdk" | "table" | null;
  /** Seconds that the run took; null while it is not known. */
  duration: number | null;
  /** When it began, as RFC 3339; empty where it is not known. */
  timestamp: string;
  /** Where it is kept. */
  source: "azure-blob" | "local";
  /** The target of the suite. */
  skill: string;
  /** Trials of each task; 0 where it is not known. */
  repetitions: number;
  /** The mean weighted score of the tasks. */
  weightedScore: number | null;
  /** The mean score of the tasks. */
  score: number | null;
  /** Tasks that failed. */
  failedCount: number;
  /** Tasks that ended in an error. */
  errorCount: number;
  /** Tasks that were not graded, did not start or were cut off. */
  skippedCount: number;
  /** The share of tasks that passed, from 0 to 1; null for a run that did not come to its end. */
  successRate: number | null;
  /** Which part of the suite was run, in words; empty for all of it. */
  part: string;
  /** Whether it came to its end. */
  complete: boolean;
  /** How it ended, in the words of results files: `complete`, `cancelled`, `limit`, `stopped`; else as `outcome`. */
  runStatus: string;
  /** What speaks against its verdict, in words. */
  reasons: string[];
  /** The executor. */
  engine: string;
  /** Whether it has an arm without skills. */
  hasBaseline: boolean;
  /** The commit of the suite; empty where it is not known. */
  commit: string;
  /** The branch of the suite; empty where it is not known. */
  branch: string;
  /** The path of its results file below the root; empty without one. */
  path: string;
  /** Why its files cannot be read; empty where they can. */
  error: string;
}

/** What a worker does now. */
export interface RunningTrial {
  /** The id of the task. */
  task: string;
  /** Its name. */
  name: string;
  /** The arm. */
  arm: "baseline" | "main";
  /** The trial, from 1. */
  trial: number;
  /** The attempt, from 1; 0: not known. */
  attempt: number;
  /** The turn, from 1; 0: none has begun. */
  turn: number;
  /** What is going on. */
  doing: "grading" | "preparing" | "waiting for the agent";
  /** Tool calls of the turns that have ended. */
  toolCalls: number;
  /** When the trial began, as RFC 3339. */
  since: string;
}

/** All runs together; runs without results are not counted. */
export interface RunsSummary {
  /** Runs with results. */
  totalRuns: number;
  /** Tasks of these. */
  totalTasks: number;
  /** The share of these tasks that passed, from 0 to 100. */
  passRate: number;
  /** Mean tokens of the runs that know them. */
  avgTokens: number | null;
  /** Mean premium requests of the runs that know them. */
  avgPremiumRequests: number | null;
  /** Mean AI credits of the runs that report them. */
  avgAICredits: number | null;
  /** Mean cost in US dollars; null: it is not known. */
  avgCost: number | null;
  /** Where the cost comes from. */
  costSource: "estimate" | "mixed" | "sdk" | "table" | null;
  /** Mean duration in seconds. */
  avgDuration: number | null;
  /** Runs in progress. */
  inProgress: number;
  /** Runs without results that no process goes on with. */
  cutOff: number;
  /** Runs and results files that cannot be read. */
  unreadable: number;
}

/** Several results files side by side, in the order given. Deltas are last minus first. */
export interface SideBySide {
  files: string[];
  models: string[];
  aggregate_scores: number[];
  success_rates: number[];
  aggregate_score_delta: number | null;
  success_rate_delta: number | null;
  task_deltas: TaskDelta[];
  total_tests: number[];
  durations_ms: number[];
  duration_delta_ms: number | null;
  tool_metrics: ToolMetrics[];
  normalized_gain: number | null;
  /** Why all deltas are None: the first or the last result measured something else than its arms claim. */
  not_measured?: string;
  /** Of two results: the second against the first. */
  comparison?: Comparison;
  /** Of more results: each of the others against the first, or against the one that was named. */
  comparisons?: Comparison[];
  /** The same suite by suite, where there are several. */
  suites?: SuiteComparisons[];
}

/** Something that the agent did in a turn. */
export interface Step {
  /** What it did: wrote, called a tool, loaded a skill, broke; or what its platform says of the answer. */
  kind: "call" | "details" | "failure" | "message" | "skill";
  /** The message, the name of the skill, the failure; else empty. */
  text: string;
  /** The tool call. */
  call: CallPage | null;
  /** What the platform says. */
  details: Record<string, unknown> | null;
}

/** Whether results are kept in a store as well. */
export interface StorageStatus {
  /** Whether `.waza.yaml` names one. */
  configured: boolean;
  /** Its kind; empty without one. */
  provider: string;
  /** The account, bucket or directory. */
  account: string;
}

/** The runs of the configured store. */
export interface StoredPage {
  /** The store. */
  status: StorageStatus;
  /** Its runs, the newest first. */
  runs: StoredRun[];
  /** Why they cannot be listed; empty where they can. */
  error: string;
  /** What the list may lack. */
  warnings: string[];
}

/** A run in the configured store. */
export interface StoredRun {
  /** The id by which `waza results get` finds it. */
  id: string;
  /** The skill that it is filed under. */
  skill: string;
  /** The name of the suite. */
  spec: string;
  /** The model. */
  model: string;
  /** The share of tasks that passed, from 0 to 1; null where the store does not know. */
  passRate: number | null;
  /** When it was run or stored, as RFC 3339. */
  timestamp: string;
  /** Its size in bytes. */
  size: number | null;
  /** Whether it is among the runs here. */
  local: boolean;
  /** What it is called among the runs here; empty where it is not among them. */
  run: string;
  /** `passed`, `failed`, `not graded` or `not decided`; empty where the store does not know. */
  verdict: string;
}

/** One of several suites: each of the other results against the first, as far as both have the suite. */
export interface SuiteComparisons {
  suite: string;
  comparisons: Comparison[];
}

/** How many tasks ended in which way. */
export interface TaskCounts {
  /** Tasks that passed. */
  passed: number;
  /** Tasks that failed. */
  failed: number;
  /** Tasks that ended in an error. */
  error: number;
  /** Tasks that were not graded or did not start. */
  skipped: number;
  /** Tasks some of whose trials did not run. */
  cutOff: number;
  /** Tasks some of whose trials have not run yet. */
  inProgress: number;
  /** Tasks of which no trial has ended yet. */
  notStarted: number;
}

/** A task in every file; the status is `n/a` where it is missing. Deltas are last minus first.
 *
 * Scores and rates are None where there is no trial: the task is missing, was skipped, or broke before its first one.
 * Deltas are None also where the results are not measured.
 */
export interface TaskDelta {
  task_id: string;
  display_name: string;
  scores: (number | null)[];
  pass_rates: (number | null)[];
  statuses: string[];
  score_delta: number | null;
  pass_rate_delta: number | null;
}

/** A task of a run in a list. */
export interface TaskSummary {
  /** The id of the task. */
  id: string;
  /** Its name, with the id where several tasks have the same name. */
  name: string;
  /** The groups that it belongs to. */
  group: string;
  /** Its tags. */
  tags: string[];
  /** What there is to say of it besides: golden, cached, judged again, flaky. */
  marks: string[];
  /** Whether it must always pass. */
  golden: boolean;
  /** How it ended. */
  status: "cut off" | "error" | "failed" | "in progress" | "not started" | "passed" | "skipped";
  /** The mean score of its trials; null without one. */
  score: number | null;
  /** The mean weighted score of its trials. */
  weightedScore: number | null;
  /** The bootstrap interval of the weighted score; null with one trial. */
  interval: IntervalPage | null;
  /** Whether that interval leaves out 0. */
  isSignificant: boolean | null;
  /** The share of its trials that passed. */
  passRate: number | null;
  /** The mean duration of its trials. */
  durationMs: number | null;
  /** The tokens of all of its trials; null where they are not known. */
  tokens: number | null;
  /** Its trials; those of the arm without skills are behind the others. */
  trials: TrialMark[];
  /** Trials that were planned and did not run. */
  missing: number;
  /** Why it did not pass, in one line; empty where it passed. */
  cause: string;
}

/** A bar of the waterfall, in the order in which things began. */
export interface TimelineEntry {
  /** What it is: a turn of the conversation, a tool call, one of an MCP server, a session of a judge. */
  kind: "judge" | "mcp" | "tool" | "turn";
  /** What to call it. */
  label: string;
  /** When it began, in milliseconds since the first prompt was sent; null where it is not known. */
  startMs: number | null;
  /** How long it took; null where it is not known. */
  durationMs: number | null;
  /** Whether it succeeded. */
  ok: boolean;
  /** The turn that it belongs to, from 1; 0: none. */
  turn: number;
  /** The place of its step in the turn, from 0; null: it is no step. */
  step: number | null;
}

/** Tool use in one file.
 *
 * `success_rate` is over calls, `selection_accuracy` the share of passed verdicts among the graders that
 * judge tools; None without calls or such graders. The histogram counts tasks by calls in all their runs.
 */
export interface ToolMetrics {
  total_calls: number;
  tasks_with_tools: number;
  avg_calls_per_task: number | null;
  success_rate: number | null;
  selection_accuracy: number | null;
  call_count_histogram: Record<string, number>;
}

/** An event of a transcript. */
export interface TranscriptEvent {
  /** What happened. */
  type: string;
  /** The text of a message. */
  content: unknown;
  /** Another form of the text. */
  message: unknown;
  /** The id of the tool call. */
  toolCallId: string;
  /** The name of the tool. */
  toolName: string;
  /** The arguments of the call. */
  arguments: unknown;
  /** What the tool answered. */
  toolResult: unknown;
  /** Whether the call succeeded. */
  success: boolean | null;
}

/** The same trial of two runs; null where a run does not have it. */
export interface TrialComparison {
  /** That of the run to compare with. */
  a: TrialDetail | null;
  /** That of the other run. */
  b: TrialDetail | null;
}

/** All that is recorded of a trial: why it ended as it did comes first. */
export interface TrialDetail {
  /** The id of the run. */
  run: string;
  /** The name of the suite. */
  spec: string;
  /** The model of the agent, for people. */
  model: string;
  /** The id of the task. */
  task: string;
  /** The name of the task. */
  name: string;
  /** The number of the trial, from 1. */
  number: number;
  /** How many trials the task was to have. */
  planned: number;
  /** `baseline`: without skills. */
  arm: "baseline" | "main";
  /** How it ended. */
  status: "error" | "failed" | "passed" | "skipped";
  /** The mean score of its graders; null: nothing was graded. */
  score: number | null;
  /** Their weighted score. */
  weightedScore: number | null;
  /** The task, the trial and how it ended. */
  title: string;
  /** Why it did not pass, in one line; empty where it passed. */
  cause: string;
  /** Why there is no verdict, or what broke on the way. */
  error: string;
  /** Whether a time limit ended it. */
  timedOut: boolean;
  /** The names of the checks that explain why it did not pass, the most telling first. */
  causes: string[];
  /** What else went wrong, in lines: it may be what the verdicts come from. */
  besides: string[];
  /** All verdicts: those that did not pass first. */
  checks: Check[];
  /** The final output, which graders judged. */
  judgedText: string;
  /** Whether its middle was not stored. */
  truncated: boolean;
  /** The length of an output that was cut, in bytes; else 0. */
  outputBytes: number;
  /** The conversation. */
  turns: TurnPage[];
  /** Whether there is a transcript; else only the first prompt, the calls and the output are known. */
  whole: boolean;
  /** Events of the transcript that are not shown, by their types. */
  otherEvents: Record<string, number>;
  /** The waterfall. */
  timeline: TimelineEntry[];
  /** The session in short, with the effective policy. */
  digest: DigestPage;
  /** Calls of mocked programs. */
  mockedCommands: MockedCommand[];
  /** How the conversation with the responder ended. */
  responder: ResponderPage | null;
  /** The checkpoints. */
  checkpoints: CheckpointPage[];
  /** Attempts before the one that counts. */
  attemptsBefore: AttemptPage[];
  /** Sessions of judges. */
  judges: JudgePage[];
  /** Files that the agent changed, as far as it is known. */
  fileChanges: FileChange[];
  /** Attempts, duration, skills, workspace and whatever else there is to say. */
  facts: NamedValue[];
  /** All trials of the task, of both arms. */
  trials: TrialLink[];
  /** The trial before this one, in the order in which failed ones come first. */
  previous: TrialLink | null;
  /** The trial after this one in that order. */
  next: TrialLink | null;
  /** Whether the run is in progress. */
  inProgress: boolean;
  /** The command that shows it in a terminal. */
  command: string;
}

/** Where a trial is. */
export interface TrialLink {
  /** The id of its task. */
  task: string;
  /** Its number. */
  number: number;
  /** Its arm. */
  arm: "baseline" | "main";
  /** How it ended. */
  status: "error" | "failed" | "passed" | "skipped";
}

/** A trial in the row of its task. */
export interface TrialMark {
  /** The number of the trial, from 1. */
  number: number;
  /** `baseline`: without skills. */
  arm: "baseline" | "main";
  /** How it ended. */
  status: "error" | "failed" | "passed" | "skipped";
  /** The mean score of its graders; null: nothing was graded. */
  score: number | null;
  /** Milliseconds that the agent worked. */
  durationMs: number;
  /** How many attempts it took. */
  attempts: number;
  /** Its tokens, with discarded attempts; null where they are not known. */
  tokens: number | null;
}

/** A prompt and what followed. */
export interface TurnPage {
  /** The prompt; null where it is not recorded. */
  prompt: string | null;
  /** What followed, in order. */
  steps: Step[];
}

/** Parts of the variance, in squares of the metric; None where the data cannot tell.
 *
 * `task` is the variance of the true differences between tasks. `trial` is that of one trial about its task's
 * mean, without the judge's part where that is known. `judge` is that of the verdicts on one and the same answer, on
 * the average over all trials: those that no judge was asked about have none.
 */
export interface Variance {
  task: number | null;
  trial: number | null;
  judge: number | null;
}

/** The verdict over a run. */
export interface VerdictPage {
  /** `passed`, `failed`, `not graded` or `not decided`; `in progress` or `cut off` without one. */
  word: string;
  /** Whether it passed. */
  passed: boolean;
  /** What speaks against it, in words. */
  reasons: string[];
}
