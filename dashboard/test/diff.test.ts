import { expect, test } from "vitest";
import { align, readDiff } from "../src/diff";

test("the lines of a unified diff", () => {
  const text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n--- two\n+two\n\\ No newline at end of file\n";
  expect(readDiff(text)).toEqual([
    { kind: "place", text: "@@ -1,2 +1,2 @@" },
    { kind: "same", text: "one" },
    { kind: "removed", text: "-- two" },
    { kind: "added", text: "two" },
    { kind: "note", text: "No newline at end of file" },
  ]);
});

test("git's headers are left out, what it says of binary files is not", () => {
  expect(readDiff("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ")).toEqual([
    { kind: "note", text: "Binary files a/x and b/x differ" },
  ]);
});

const aligned = (a: string, b: string) =>
  align([...a], [...b], (one) => one, (one) => (one === one.toUpperCase() ? "upper" : "lower")).map(
    (pair) => `${pair.a ?? "."}${pair.same ? "=" : "|"}${pair.b ?? "."}`,
  );

test("equal neighbours share a row, and so do others of the same sort", () => {
  expect(aligned("abc", "abc")).toEqual(["a=a", "b=b", "c=c"]);
  expect(aligned("abc", "axc")).toEqual(["a=a", "b|x", "c=c"]);
  expect(aligned("abc", "ac")).toEqual(["a=a", "b|.", "c=c"]);
  expect(aligned("ac", "aXc")).toEqual(["a=a", ".|X", "c=c"]);
  expect(aligned("", "ab")).toEqual([".|a", ".|b"]);
});

test("the order of both sides is kept", () => {
  const found = align([..."pQrs"], [..."xYpZ"], (one) => one, () => "any");
  expect(found.map((pair) => pair.a).filter(Boolean).join("")).toBe("pQrs");
  expect(found.map((pair) => pair.b).filter(Boolean).join("")).toBe("xYpZ");
});

test("very long lists are put side by side as they are", () => {
  const long = Array.from({ length: 1500 }, (_, i) => String(i));
  const found = align(long, long.slice(1), (one) => one, () => "any");
  expect(found).toHaveLength(1500);
  expect(found[0]).toEqual({ a: "0", b: "1", same: false });
});
