/** What every page has: its data, a heading, and the way up. */

import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Api } from "./data";
import { visible } from "./format";

export const ApiContext = createContext<Api | undefined>(undefined);

/** The data of the pages. */
export function useApi(): Api {
  const api = useContext(ApiContext);
  if (!api) throw new Error("a page was drawn outside of the app");
  return api;
}

let opened = false; // whether a page was there before: only then the heading takes the focus

/** The heading of a page. It names the window, and takes the focus where the reader came from another page. */
export function Heading({ title, children, window = title }: { title: string; children?: ComponentChildren; window?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(window)} · waza`;
  }, [window]);
  // With the page itself: a key that is pressed as soon as it can be seen moves on from here.
  useLayoutEffect(() => {
    if (opened) heading.current?.focus({ preventScroll: true });
    opened = true;
  }, []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {visible(title)} {children}
    </h1>
  );
}

/** The pages above this one; Escape goes to the last of them. */
export function Crumbs({ of }: { of: readonly (readonly [title: string, href: string])[] }) {
  return (
    <nav aria-label="Pages above">
      <ol class="crumbs">
        {of.map(([title, href], i) => (
          <li key={href}>
            <a href={href} data-key={i === of.length - 1 ? "Escape" : undefined}>
              {visible(title)}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
