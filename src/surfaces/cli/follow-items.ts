import type { InboxItem } from "../../events/inbox-item.ts";
import type { Inbox } from "../../sessions/inbox/inbox.ts";
import { exitCode } from "./exit-code.ts";
import type { InboxPage } from "./inbox-page.ts";
import type { Io } from "./io.ts";

interface Following {
  isWanted(item: InboxItem): boolean;
  draw(item: InboxItem): string;
  /** What is shown counts as seen. */
  readonly marks: boolean;
}

/** Shows a page of an inbox, then everything that comes, until somebody has seen enough. */
export async function followItems(
  inbox: Inbox,
  page: InboxPage,
  io: Io,
  { draw, isWanted, marks }: Following,
): Promise<number> {
  const shown = new Set<number>();
  let marking: Promise<unknown> = Promise.resolve();
  const show = (item: InboxItem): void => {
    if (shown.has(item.id) || !isWanted(item)) return;
    shown.add(item.id);
    io.stdout.write(draw(item));
    // One after the other; that one could not be kept is no reason to stop showing.
    if (marks) marking = marking.then(() => inbox.markRead(item.id)).catch(() => undefined);
  };
  // Listening begins before reading, so that nothing falls between; what comes meanwhile waits.
  const early: InboxItem[] = [];
  let isReading = true;
  const stop = inbox.on((item) => (isReading ? early.push(item) : show(item)));
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const release = io.onSignal(() => end());
  try {
    for (const item of page.items) if (item.id <= page.through || item.isOpen) show(item);
    await readOn(page.through);
    isReading = false;
    early.forEach(show);
    await ended;
  } finally {
    release();
    stop();
    await marking;
  }
  return exitCode.interrupted;

  async function readOn(from: number): Promise<void> {
    const items = await inbox.read({ after: from, limit: 200 });
    items.forEach(show);
    const last = items.at(-1);
    if (last !== undefined && items.length === 200) await readOn(last.id);
  }
}
