import { ValueStore } from "./value-store.ts";

/** Sent to the other tabs of this browser, which share the session. */
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
  // Refused or lost: an earlier cookie may still be valid; otherwise the page shows what to do.
  const begun = await exchange({ code });
  linkProblem.set("problem" in begun ? begun.problem : "");
  if ("problem" in begun) return undefined;
  return isAnyPage && begun.path !== "/" ? begun.path : undefined;
}

/** Signs in with what a person typed: an access token or a short code. Returns why it did not. */
export async function signIn(typed: string): Promise<string | undefined> {
  const text = typed.trim();
  const begun = await exchange(text.startsWith("mnd_") ? { token: text } : { code: text });
  if ("problem" in begun) return begun.problem;
  linkProblem.set("");
  return undefined;
}

/** Ends this session here and at the server. Returns why the server could not. */
export async function signOut(): Promise<string | undefined> {
  const response = await fetch(endpoint, { method: "DELETE" }).catch(() => undefined);
  if (response === undefined) return "The server did not answer. Try again.";
  tabs.postMessage("ended");
  return response.ok ? undefined : await problemOf(response);
}

async function exchange(
  body: Readonly<Record<string, string>>,
): Promise<{ readonly path: string } | { readonly problem: string }> {
  const response = await fetch(endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  if (response === undefined) return { problem: "The server did not answer." };
  if (!response.ok) return { problem: await problemOf(response) };
  tabs.postMessage("begun");
  const { path } = await response.json();
  return { path: String(path) };
}

async function problemOf(response: Response): Promise<string> {
  const said = await response.json().catch(() => undefined);
  return said?.detail ?? "The server did not answer.";
}

/** The command that prints a new link. */
export async function readLinkCommand(): Promise<string> {
  const response = await fetch(endpoint).catch(() => undefined);
  const said = await response?.json().catch(() => undefined);
  return response?.ok ? said.next : "mandate serve --link";
}

/** In another tab: a session began or ended. */
export function onSessionChanged(listener: (change: "begun" | "ended") => void): void {
  tabs.addEventListener("message", ({ data }) => listener(data === "ended" ? "ended" : "begun"));
}
