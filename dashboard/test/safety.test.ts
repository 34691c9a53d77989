import { expect, test } from "vitest";

// Texts of agents must stay text: what would make HTML or scripts of them is not used anywhere.
const FORBIDDEN =
  /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|\beval\(|new Function|javascript:|\bsrcdoc\b|setAttribute\("style"/;

const sources = Object.entries(
  import.meta.glob<string>("../src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true }),
);

test("there are sources", () => expect(sources.length).toBeGreaterThan(10));

test.each(sources)("%s makes no HTML of texts", (_, source) => expect(source).not.toMatch(FORBIDDEN));
