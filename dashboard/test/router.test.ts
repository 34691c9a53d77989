import { expect, test } from "vitest";
import { link, linkToTrial, parse } from "../src/router";

test("a link leads back to what it was made of", () => {
  const path = ["runs", "a/b c%?#.json", "täsk 🎉 ../..", "1"];
  const query = { q: "a&b=c?#/ +", sort: "name" };
  expect(parse(link(path, query))).toEqual({ path, query });
});

test("what is empty is not in the address", () => {
  expect(link([], { q: "", sort: undefined })).toBe("#/");
  expect(linkToTrial("r", "t", 2, "main")).toBe("#/runs/r/t/2");
  expect(linkToTrial("r", "t", 2, "baseline")).toBe("#/runs/r/t/2?arm=baseline");
});

test("names of dots are no directories", () => {
  expect(link(["runs", "..", "."])).toBe("#/runs/%2E%2E/%2E");
  expect(parse("#/runs/%2E%2E/%2E").path).toEqual(["runs", "..", "."]);
});

test.each(["", "#", "#/", "/"])("%j is the first page", (hash) => {
  expect(parse(hash)).toEqual({ path: [], query: {} });
});

test("a stray percent sign is itself", () => {
  expect(parse("#/runs/100%").path).toEqual(["runs", "100%"]);
});
