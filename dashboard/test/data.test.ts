/** The data that are embedded in a page answer as the HTTP API does. */

import { expect, test } from "vitest";
import type { Embedded, RunHead, RunSummary, TaskSummary } from "../src/api";
import { EmbeddedApi } from "../src/data";

const task = (name: string, status: TaskSummary["status"]) => ({ id: name, name, status, group: "", tags: [] }) as unknown as TaskSummary;
const head = (run: Partial<RunSummary>) => ({ run: { skill: "", model: "", spec: "", score: null, weightedScore: null, ...run } }) as unknown as RunHead;

const api = new EmbeddedApi({
  version: "1",
  heads: [
    head({ id: "a", timestamp: "2026-01-31T10:00:00+02:00", score: 0.9, weightedScore: 0.1 }),
    head({ id: "b", timestamp: "2026-01-31T09:00:00Z", score: 0.2, weightedScore: 0.8 }),
    head({ id: "c", timestamp: "" }),
  ],
  tasks: { a: [task("one", "passed"), task("Two", "failed"), task("three", "error"), task("four", "passed")] },
  trials: {},
  documents: [],
} satisfies Embedded);

const tasks = async (sort: string) => (await api.tasks("a", { offset: 0, limit: 9, sort })).items.map((one) => one.name);
const runs = async (sort: string) => (await api.runs({ offset: 0, limit: 9, sort })).items.map((one) => one.id);

test("tasks that did not pass come first, or all as in their suite", async () => {
  expect(await tasks("")).toEqual(["three", "Two", "one", "four"]);
  expect(await tasks("default")).toEqual(["three", "Two", "one", "four"]);
  expect(await tasks("order")).toEqual(["one", "Two", "three", "four"]);
  expect(await tasks("name")).toEqual(["four", "one", "three", "Two"]);
});

test("runs are sorted by the moment they began and by the score that is asked for", async () => {
  expect(await runs("timestamp")).toEqual(["b", "a", "c"]);
  expect(await runs("score")).toEqual(["a", "b", "c"]);
  expect(await runs("weightedScore")).toEqual(["b", "a", "c"]);
});
