import { describe, expect, test } from "vitest";
import * as format from "../src/format";

describe("formats", () => {
  test.each([
    [0, "0s"],
    [1, "<1s"],
    [999, "<1s"],
    [1000, "1s"],
    [12_400, "12s"],
    [59_600, "1m 0s"],
    [123_000, "2m 3s"],
    [3_840_000, "1h 4m"],
    [undefined, "—"],
    [null, "—"],
    [Number.NaN, "—"],
  ])("duration of %s ms is %s", (ms, shown) => expect(format.duration(ms)).toBe(shown));

  test.each([
    [850, "850ms"],
    [1250, "1.25s"],
    [12_340, "12.3s"],
    [123_000, "2m 3s"],
  ])("exact duration of %s ms is %s", (ms, shown) => expect(format.exactDuration(ms)).toBe(shown));

  test.each([
    [0, "0"],
    [999, "999"],
    [1000, "1K"],
    [1540, "1.5K"],
    [999_949, "999.9K"],
    [999_950, "1M"],
    [2_500_000, "2.5M"],
    [undefined, "—"],
  ])("count of %s is %s", (value, shown) => expect(format.count(value)).toBe(shown));

  test("only a whole share is 100 %, only none is 0 %", () => {
    expect([1, 0.999, 0.5, 0.001, 0].map(format.percent)).toEqual(["100%", "99.9%", "50%", "0.1%", "0%"]);
  });

  test("cost, score, difference, interval", () => {
    expect(format.cost(1.236)).toBe("$1.24");
    expect(format.cost(null)).toBe("—");
    expect(format.score(0.5)).toBe("0.50");
    expect([0.25, -0.25, 0.001, -0.001, undefined].map((one) => format.signed(one))).toEqual(["+0.25", "−0.25", "0.00", "0.00", "—"]);
    expect(format.interval(0.1, 0.9)).toBe("0.10 to 0.90");
    expect(format.interval(undefined, 0.9)).toBe("—");
  });

  test.each([
    [10, "just now"],
    [61, "1 min ago"],
    [7200, "2 h ago"],
    [3 * 86_400, "3 d ago"],
  ])("%s seconds ago is %s", (seconds, shown) => {
    const now = Date.parse("2026-06-15T12:00:00Z");
    expect(format.ago(new Date(now - seconds * 1000).toISOString(), now)).toBe(shown);
  });

  test("moments that are old, to come, absent or no moments", () => {
    const now = Date.parse("2026-06-15T12:00:00Z");
    expect(format.ago("2026-01-10T12:00:00Z", now)).toBe("2026-01-10");
    expect(format.ago("2026-06-20T12:00:00Z", now)).toBe("2026-06-20");
    expect(format.ago("", now)).toBe("—");
    expect(format.moment("yesterday")).toBe("—");
  });

  test("signs that cannot be seen become escapes; lines stay lines", () => {
    expect(format.visible("a\x1b[31m\u202eb\u200b\tc\r\nd\re")).toBe("a\\x1b[31m\\u202eb\\u200b\tc\r\nd\\x0de");
  });
});
