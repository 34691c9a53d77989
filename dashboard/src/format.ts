/** How numbers, times and texts are shown. An absent value is an em dash everywhere. */

export const ABSENT = "—";

type Maybe<T> = T | null | undefined;

const known = (value: Maybe<number>): value is number => typeof value === "number" && Number.isFinite(value);

/** A duration of so many milliseconds: `<1s`, `12s`, `2m 3s`, `1h 4m`. */
export function duration(ms: Maybe<number>): string {
  if (!known(ms) || ms < 0) return ABSENT;
  if (ms === 0) return "0s";
  if (ms < 1000) return "<1s";
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${seconds % 60}s`;
  return `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

/** A duration within a trial, where fractions of a second matter: `850ms`, `1.25s`, `2m 3s`. */
export function exactDuration(ms: Maybe<number>): string {
  if (!known(ms) || ms < 0) return ABSENT;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)}s`;
  return duration(ms);
}

/** A difference of durations with its sign: `+1.25s`, `−850ms`. */
export function signedDuration(ms: Maybe<number>): string {
  return known(ms) ? `${ms < 0 ? "−" : "+"}${exactDuration(Math.abs(ms))}` : ABSENT;
}

/** US dollars: `$0.00`. */
export function cost(dollars: Maybe<number>): string {
  return known(dollars) ? `$${dollars.toFixed(2)}` : ABSENT;
}

/** A count: `999`, `1.5K`, `2M`. */
export function count(value: Maybe<number>): string {
  if (!known(value)) return ABSENT;
  const size = Math.abs(value);
  for (const [unit, sign] of [
    [1e6, "M"],
    [1e3, "K"],
  ] as const) {
    // 999,950 and more would be shown as 1000.0K.
    if (size >= unit || (unit === 1e6 && size >= 999_950)) return `${short(value / unit)}${sign}`;
  }
  return short(value);
}

function short(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}

/** A count with all of its digits: `12,345`. */
export function grouped(value: Maybe<number>): string {
  return known(value) ? Math.round(value).toLocaleString("en-US") : ABSENT;
}

/** A score with two decimals. */
export function score(value: Maybe<number>): string {
  return known(value) ? value.toFixed(2) : ABSENT;
}

/** A share between 0 and 1 as a percentage. 100 % and 0 % are only said of what is exactly that. */
export function percent(share: Maybe<number>): string {
  if (!known(share)) return ABSENT;
  const shown = Math.round(share * 100);
  if (shown === 100 && share < 1) return "99.9%";
  if (shown === 0 && share > 0) return "0.1%";
  return `${shown}%`;
}

/** A difference with its sign: `+0.25`, `−0.25`, `0.00`. */
export function signed(value: Maybe<number>, digits = 2): string {
  if (!known(value)) return ABSENT;
  const size = Math.abs(value).toFixed(digits);
  if (Number(size) === 0) return size;
  return `${value < 0 ? "−" : "+"}${size}`;
}

/** The limits of a confidence interval. */
export function interval(lower: Maybe<number>, upper: Maybe<number>): string {
  return known(lower) && known(upper) ? `${score(lower)} to ${score(upper)}` : ABSENT;
}

/** How long ago a moment is: `just now`, `5 min ago`, `3 h ago`, `2 d ago`; the date after a month. */
export function ago(time: Maybe<string>, now: number = Date.now()): string {
  const at = time ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(at)) return ABSENT;
  const seconds = Math.round((now - at) / 1000);
  if (seconds < -60) return date(time);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 30 * 86_400) return `${Math.floor(seconds / 86_400)} d ago`;
  return date(time);
}

/** A moment as a date in the reader's own time zone: `2026-01-31`. */
export function date(time: Maybe<string>): string {
  return moment(time).slice(0, 10);
}

/** A moment in the reader's own time zone: `2026-01-31 14:05`. */
export function moment(time: Maybe<string>): string {
  const at = time ? new Date(time) : undefined;
  if (!at || Number.isNaN(at.getTime())) return ABSENT;
  const two = (part: number) => String(part).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** `1 task`, `2 tasks`. */
export function plural(number: number, noun: string): string {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Any value as people read it: a text as it is, anything else as JSON. */
export function plain(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** The text with what cannot be seen, or would turn the line around, as escapes such as \u202e. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (sign) => {
    const code = sign.codePointAt(0) ?? 0;
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

// Controls but tab and line feed, signs of direction, and signs without width. A carriage return before a line feed is
// how some programs end lines.
const UNSEEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\r(?!\n)/g;
