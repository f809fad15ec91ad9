import { harmlessLine } from "../../../src/sessions/harmless-text.ts";
import { navigate } from "../router/router.ts";
import { client } from "./client.ts";
import { live } from "./live.ts";
import { useValue, ValueStore } from "./value-store.ts";

/** `refused`: the browser was told never to ask again. `none`: it has no notifications here. */
export type NoticeState = "none" | "refused" | "off" | "on";

const key = "mandate-desktop-notices";
const mostTold = 3;

const state = new ValueStore<NoticeState>(readState());

function readState(): NoticeState {
  // A page that came over an unencrypted network from elsewhere has none.
  if (typeof Notification === "undefined" || !isSecureContext) return "none";
  if (Notification.permission === "denied") return "refused";
  const isOn = Notification.permission === "granted" && localStorage.getItem(key) === "on";
  return isOn ? "on" : "off";
}

export function useDesktopNotices(): NoticeState {
  return useValue(state);
}

/** Asks the browser only here, and this is called only by a button. */
export async function switchDesktopNotices(): Promise<void> {
  if (state.get() === "on") {
    localStorage.removeItem(key);
    state.set("off");
    return;
  }
  if ((await Notification.requestPermission()) === "granted") localStorage.setItem(key, "on");
  state.set(readState());
}

/** Questions that arrive while the page is not visible. */
export function followDesktopNotices(): () => void {
  return live.onEvents((events) => {
    if (state.get() !== "on" || document.hasFocus()) return;
    const asked = events.filter(({ type }) => type === "agent.asked").map(({ seq }) => seq);
    if (asked.length > 0) void tell(asked);
  });
}

/** An item of the inbox has the number of its event. */
async function tell(asked: readonly number[]): Promise<void> {
  const { items } = await client
    .listInbox({ openOnly: true, limit: 20 })
    .catch(() => ({ items: [] }));
  const news = items.filter(({ id }) => asked.includes(id));
  for (const { id, text, title } of news.slice(0, mostTold)) {
    const notice = new Notification(harmlessLine(title, 100), {
      body: harmlessLine(text, 200),
      // Several tabs of one server share the tag, so the notice is shown once.
      tag: `mandate-${id}`,
    });
    notice.onclick = () => {
      window.focus();
      navigate("/inbox");
    };
  }
}
