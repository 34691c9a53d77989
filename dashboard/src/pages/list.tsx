/** Lists that are short as a rule: the first slice, and the next ones as the reader wants them. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Slice } from "../data";
import { plural } from "../format";
import { SLICE, asError } from "../load";
import { Failure, Waiting } from "../parts";

interface Props<T> {
  fetch: (offset: number, limit: number) => Promise<Slice<T>>;
  children: (item: T) => ComponentChildren;
  empty: ComponentChildren;
  noun: string;
  /** Another key is another list. */
  of?: string;
}

export function List<T>({ fetch, children, empty, noun, of = "" }: Props<T>) {
  const [found, set] = useState<Slice<T> | undefined>();
  const [error, fail] = useState<Error | undefined>();
  const [wanted, want] = useState(SLICE);
  useEffect(() => {
    set(undefined);
    want(SLICE);
  }, [of]);
  useEffect(() => {
    let current = true;
    const offset = wanted - SLICE;
    fetch(offset, SLICE).then(
      (slice) => current && set((old) => ({ total: slice.total, items: [...(old?.items.slice(0, offset) ?? []), ...slice.items] })),
      (thrown: unknown) => current && fail(asError(thrown)),
    );
    return () => {
      current = false;
    };
  }, [of, wanted]);
  if (error) return <Failure error={error} />;
  if (!found) return <Waiting />;
  if (!found.total && !found.items.length) return <>{empty}</>;
  return (
    <div class="stacked">
      <p class="quiet" role="status">
        {plural(found.total, noun)}
      </p>
      {found.items.map(children)}
      {found.items.length < found.total && (
        <button type="button" onClick={() => want(wanted + SLICE)}>
          Show more
        </button>
      )}
    </div>
  );
}
