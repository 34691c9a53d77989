import { expect, test } from "vitest";
import { toCsv } from "../src/csv";

test("cells are quoted where they must be", () => {
  expect(toCsv(["a", "b"], [["x,y", 'say "hi"'], ["line\nbreak", 1.5], [true, undefined], [null, Number.NaN]])).toBe(
    'a,b\r\n"x,y","say ""hi"""\r\n"line\nbreak",1.5\r\ntrue,\r\n,\r\n',
  );
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\t=1", "\n@x"])("%j is no formula", (text) => {
  const cell = toCsv([], [[text]]).split("\r\n")[1]?.replace(/^"/, "");
  expect(cell?.startsWith("'")).toBe(true);
});

test("a number that is negative stays a number", () => {
  expect(toCsv(["a"], [[-1]])).toBe("a\r\n-1\r\n");
});
