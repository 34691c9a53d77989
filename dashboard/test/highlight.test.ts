import { expect, test } from "vitest";
import { pieces } from "../src/highlight";

const marks = (text: string, ...spans: [start: number, end: number, good?: boolean][]) =>
  pieces(text, spans.map(([start, end, good = false]) => ({ start, end, good })))
    .map((piece) => ({ "": piece.text, bad: `[${piece.text}]`, good: `(${piece.text})` })[piece.mark])
    .join("");

test("a text without spans is one piece", () => {
  expect(pieces("abc", [])).toEqual([{ text: "abc", mark: "", note: "" }]);
  expect(pieces("", [])).toEqual([]);
});

test("spans may overlap, touch, and come in any order", () => {
  expect(marks("abcdefgh", [4, 6], [1, 3], [5, 7])).toBe("a[bc]d[efg]h");
  expect(marks("abcd", [0, 2], [2, 4])).toBe("[abcd]");
});

test("where spans overlap, what speaks against the answer wins", () => {
  expect(marks("abcdef", [0, 4, true], [2, 6, false])).toBe("(ab)[cdef]");
});

test("spans outside of the text do no harm", () => {
  expect(marks("abc", [2, 99], [50, 60], [-4, 1], [1, 1], [2, 1])).toBe("[a]b[c]");
});

test("notes go with their parts", () => {
  const found = pieces("abc", [
    { start: 0, end: 2, good: true, note: "x" },
    { start: 1, end: 3, good: true, note: "y" },
  ]);
  expect(found.map((piece) => `${piece.text}:${piece.note}`)).toEqual(["a:x", "b:x, y", "c:y"]);
});
