/** Parts of a text that verdicts speak of. */

/** A part of a text, in UTF-16 code units; `good` says whether what is there speaks for the answer. */
export interface Span {
  start: number;
  end: number;
  good: boolean;
  note?: string;
}

export interface Piece {
  text: string;
  /** "good" or "bad" for a part that a verdict speaks of; "" for any other. */
  mark: "good" | "bad" | "";
  note: string;
}

/**
 * Cut a text into pieces that are marked or not.
 *
 * Spans may overlap and come in any order: where they do, what speaks against the answer wins. What lies outside of the
 * text is ignored.
 */
export function pieces(text: string, spans: readonly Span[]): Piece[] {
  const sound = spans
    .map((span) => ({ ...span, start: Math.max(0, span.start), end: Math.min(text.length, span.end) }))
    .filter((span) => span.end > span.start);
  const edges = [...new Set([0, text.length, ...sound.flatMap((span) => [span.start, span.end])])].sort((a, b) => a - b);
  const found: Piece[] = [];
  for (const [i, start] of edges.entries()) {
    const end = edges[i + 1];
    if (end === undefined) break;
    const over = sound.filter((span) => span.start <= start && span.end >= end);
    const mark = over.some((span) => !span.good) ? "bad" : over.length ? "good" : "";
    const note = [...new Set(over.map((span) => span.note ?? "").filter(Boolean))].join(", ");
    const last = found.at(-1);
    if (last && last.mark === mark && last.note === note) last.text += text.slice(start, end);
    else found.push({ text: text.slice(start, end), mark, note });
  }
  return found;
}
