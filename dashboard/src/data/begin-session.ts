import { ValueStore } from "./value-store.ts";

/** Heard by the other tabs of this browser: what one may do, all may. */
const tabs = new BroadcastChannel("mandate-session");
const endpoint = "/api/v1/page-session";

/** Why the link of this tab did not sign in; empty: it did, or the tab had no link. */
export const linkProblem = new ValueStore("");

/**
 * The page is opened with a code in the fragment of its address; it is exchanged for a cookie that
 * no script can read, and taken out of the address at once. Resolves with the page to begin with, if
 * the link names one.
 */
export async function beginSession(): Promise<string | undefined> {
  const [, code] = /^#code=(.{1,1000})$/.exec(location.hash) ?? [];
  if (code === undefined) return undefined;
  const isAnyPage = location.pathname === "/";
  history.replaceState(null, "", location.pathname + location.search);
  // Refused, or lost: the cookie of before may still count, and if not, the page says what to do.
  const response = await fetch(endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  }).catch(() => undefined);
  const said = await response?.json().catch(() => undefined);
  if (!response?.ok) {
    linkProblem.set(said?.detail ?? "The server did not answer.");
    return undefined;
  }
  linkProblem.set("");
  tabs.postMessage("begun");
  return isAnyPage && said.path !== "/" ? said.path : undefined;
}

/** The command that prints a new link. */
export async function readLinkCommand(): Promise<string> {
  const response = await fetch(endpoint).catch(() => undefined);
  const said = await response?.json().catch(() => undefined);
  return response?.ok ? said.next : "mandate serve --link";
}

/** In another tab. */
export function onSessionBegun(listener: () => void): void {
  tabs.addEventListener("message", listener);
}
