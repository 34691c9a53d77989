/** The events of a run as they happen; the connection is made again, however it ended. */

import type { LiveEvent } from "./api";
import { address } from "./data";

export type Connection = "connecting" | "live" | "reconnecting" | "ended";

const TYPES = ["run_started", "task_started", "step_executed", "task_completed", "run_completed", "run_failed"] as const;
const LONGEST = 30_000; // milliseconds between two attempts

/** How long to wait before another attempt: it doubles from a second on, up to half a minute. */
export const delay = (attempts: number) => Math.min(LONGEST, 1000 * 2 ** Math.max(0, attempts - 1));

/**
 * Follow the events of a run from `after` on. Ends by itself after the last event of the run; returns what ends it before.
 */
export function follow(run: string, after: number, heard: (event: LiveEvent) => void, changed: (state: Connection) => void): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = after;
  let attempts = 0;
  let over = false;

  const connect = () => {
    source = new EventSource(address(["v1", "runs", run, "events"], { lastEventId: last || undefined }));
    source.onopen = () => {
      attempts = 0;
      changed("live");
    };
    source.onerror = () => {
      // The browser would try again by itself after some failures and not after others; here it is always tried.
      source?.close();
      if (over) return;
      attempts += 1;
      changed("reconnecting");
      timer = setTimeout(connect, delay(attempts));
    };
    const message = (event: MessageEvent<string>) => {
      const found = JSON.parse(event.data) as LiveEvent;
      last = Math.max(last, found.sequence);
      heard(found);
      if (found.type === "run_completed" || found.type === "run_failed") {
        stop();
        changed("ended");
      }
    };
    source.onmessage = message;
    for (const type of TYPES) source.addEventListener(type, message as EventListener);
  };
  const stop = () => {
    over = true;
    clearTimeout(timer);
    source?.close();
  };
  changed("connecting");
  connect();
  return stop;
}
