import { useSyncExternalStore } from "react";
import { depart, isAnythingUnsaved } from "./unsaved.ts";

/** Where the page is: a path, and what is said after it. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

let place = readPlace();
const listeners = new Set<() => void>();

function readPlace(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

function moved(): void {
  place = readPlace();
  for (const listener of [...listeners]) listener();
}

addEventListener("popstate", () => {
  if (!isAnythingUnsaved()) return moved();
  // The browser has left already: the navigation is undone until the person has decided.
  const wanted = location.pathname + location.search;
  history.pushState(null, "", addressOf(place));
  depart(() => go(wanted, false));
});

function addressOf({ path, query }: Place): string {
  return path + (query.size === 0 ? "" : `?${query}`);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePlace(): Place {
  return useSyncExternalStore(subscribe, () => place);
}

export function navigate(to: string, { replace = false } = {}): void {
  if (to === location.pathname + location.search) return;
  depart(() => go(to, replace));
}

function go(to: string, replace: boolean): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  moved();
  if (!replace) document.querySelector("main")?.scrollTo(0, 0);
}

/** One word of the query, kept in the address so that it can be shared and survives a reload. */
export function useQueryWord(name: string, usual: string): [string, (word: string) => void] {
  const { query } = usePlace();
  const set = (word: string): void => {
    const next = new URLSearchParams(location.search);
    if (word === usual) next.delete(name);
    else next.set(name, word);
    navigate(location.pathname + (next.size === 0 ? "" : `?${next}`), { replace: true });
  };
  return [query.get(name) ?? usual, set];
}

/** The parameters of a path that a pattern such as `/runs/:id` fits, or undefined. */
export function matchPath(
  pattern: string,
  path: string,
): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split("/");
  const given = path.replace(/\/$/, "").split("/");
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, word] of wanted.entries()) {
    const said = given[index] ?? "";
    if (!word.startsWith(":")) {
      if (word !== said) return undefined;
    } else {
      try {
        params[word.slice(1)] = decodeURIComponent(said);
      } catch {
        return undefined;
      }
    }
  }
  return params;
}
