/** Heard by the other tabs of this browser: what one may do, all may. */
const tabs = new BroadcastChannel("mandate-session");

/**
 * The page is opened with a code that works once, in the fragment of its address; it is exchanged
 * for a cookie that no script can read, and taken out of the address at once.
 */
export async function beginSession(): Promise<void> {
  const [, code] = /^#code=([\w-]{1,200})$/.exec(location.hash) ?? [];
  if (code === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  // Refused, or lost: the cookie of before may still count, and if not, the page says what to do.
  const response = await fetch("/api/v1/page-session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  }).catch(() => undefined);
  if (response?.ok) tabs.postMessage("begun");
}

/** In another tab. */
export function onSessionBegun(listener: () => void): void {
  tabs.addEventListener("message", listener);
}
