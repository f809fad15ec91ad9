import type { InboxItem } from "../../../events/inbox-item.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { Inbox } from "../../../sessions/inbox.ts";
import { countOf, formatAge, formatSpan } from "../amounts.ts";
import { type Arguments, type Command, flag, jsonOption, text } from "../command.ts";
import { shorten } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { indented, printableJson, printableLine, printJson } from "../printable.ts";
import { type Style, styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

export const inboxCommand: Command = {
  name: "inbox",
  usage: "[options]",
  about:
    "Shows the news of all runs: questions from any depth, results of sub-agents, reviews, remarks of\n" +
    "watchers, plans, outcomes. Without an option: open questions, and what you have not seen. Reading\n" +
    "removes nothing; items that a terminal has shown count as seen.",
  options: {
    all: flag("the latest items, seen or not"),
    unread: flag("only what you have not seen"),
    open: flag("only what waits for an answer"),
    follow: flag("keep showing new items", "f"),
    keep: flag("mark nothing as seen"),
    reader: text("NAME", "whose place in the inbox to use (local)"),
    limit: text("NUMBER", "how many at most (50)"),
    json: jsonOption,
  },
  examples: ["inbox --all --limit 10", "inbox --open --json", "inbox --follow"],
  run: (given, io) =>
    withStore(io, async (store) => {
      const inbox = new Inbox(store, { reader: given.text("reader") ?? "local" });
      const view = viewOf(given);
      const page = await readInboxPage(inbox, view, given.count("limit") ?? 50);
      // Only items on a terminal count as seen; a program marks them itself.
      const marks = io.stdout.isTerminal && !given.flag("json") && !given.flag("keep");
      if (!given.flag("follow")) {
        if (given.flag("json")) printJson(io, documentOf(page));
        else print(page, view, io);
        if (marks && page.through > page.seen) await inbox.markRead(page.through);
        return exitCode.done;
      }
      const isJson = given.flag("json");
      return followItems(inbox, page, io, {
        isWanted: (item) => view !== "open" || item.isOpen === true,
        marks: marks && view !== "open",
        draw: (item) =>
          isJson ? `${printableJson(item)}\n` : drawInboxItem(item, item.id > page.seen, io),
      });
    }),
};

function viewOf(given: Arguments): InboxView {
  const chosen = (["all", "unread", "open"] as const).filter((name) => given.flag(name));
  const [view = "news", other] = chosen;
  if (other === undefined) return view;
  throw new MandateError("usage", `--${view} and --${other} exclude each other: take one of them.`);
}

function documentOf({ items, seen, unread }: InboxPage): object {
  return { seen, unread, items };
}

function print({ items, seen, unread }: InboxPage, view: InboxView, io: Io): void {
  for (const item of items) io.stdout.write(drawInboxItem(item, item.id > seen, io));
  const left = unread - items.filter(({ id }) => id > seen).length;
  if (items.length === 0) {
    const what = view === "open" ? "Nothing waits for an answer." : "Nothing new.";
    io.stderr.write(`${what} What was before: ${io.program} inbox --all\n`);
  } else if (left > 0 && view !== "open") {
    // The count stops at a thousand.
    const number = unread < 1000 ? countOf(left, "item") : "Many items";
    io.stderr.write(`\n${number} more that you have not seen: ${io.program} inbox --unread\n`);
  }
}

/** `news`: open questions, and unseen items. */
type InboxView = "news" | "all" | "unread" | "open";

/** One page of an inbox. */
interface InboxPage {
  readonly items: readonly InboxItem[];
  /** The last item that the reader had seen. */
  readonly seen: number;
  readonly unread: number;
  /** The last item that counts as seen once the page is shown: no unseen item before it is left out. */
  readonly through: number;
}

async function readInboxPage(inbox: Inbox, view: InboxView, limit: number): Promise<InboxPage> {
  const seen = await inbox.seen();
  const unread = await inbox.unreadCount();
  const page = (items: readonly InboxItem[], through: number): InboxPage => {
    return { items, seen, unread, through };
  };
  if (view === "open") return page(await inbox.open({ limit }), seen);
  if (view === "all") {
    const items = await inbox.read({ limit });
    const shown = items.filter(({ id }) => id > seen).length;
    return page(items, shown < unread ? seen : lastOf(items, seen));
  }
  const news = await inbox.unread({ limit });
  const through = lastOf(news, seen);
  if (view === "unread") return page(news, through);
  const open = (await inbox.open({ limit })).filter(({ id }) => id <= seen || id > through);
  return page(
    [...open, ...news].sort((left, right) => left.id - right.id),
    through,
  );
}

function lastOf(items: readonly InboxItem[], otherwise: number): number {
  return items.at(-1)?.id ?? otherwise;
}

interface Following {
  isWanted(item: InboxItem): boolean;
  draw(item: InboxItem): string;
  /** Whether shown items count as seen. */
  readonly marks: boolean;
}

/** Shows a page of an inbox, then every new item, until a signal. */
async function followItems(
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
    // In order; an error of marking must not stop the display.
    if (marks) marking = marking.then(() => inbox.markRead(item.id)).catch(() => undefined);
  };
  // Subscribes before it reads, so that no item is missed; new items wait until reading is done.
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

/** An item of the inbox in two lines, and below them the commands that answer it. */
function drawInboxItem(item: InboxItem, isUnread: boolean, io: Io): string {
  const style = styleFor(io.stdout, io);
  const { glyphs, paint } = style;
  const room = io.stdout.isTerminal ? Math.max(20, io.stdout.columns - 3) : 1000;
  const cut = (text: string) => shorten(text, room, glyphs.ellipsis);
  const title = cut(printableLine(item.title));
  const where = item.delegationId === undefined ? item.runId : `${item.runId} ${item.delegationId}`;
  const when = formatAge(io.now() - item.at);
  const lines = [
    `${markOf(item, style)} ${isUnread ? paint.strong(title) : title}`,
    ...bodyOf(item, cut),
    `  ${paint.dim(cut(`${when} ${glyphs.dot} ${printableLine(where)}`))}`,
  ];
  const answers = item.isOpen && item.ask ? howToAnswer(item.kind, item.ask, io) : [];
  for (const line of answers) lines.push(`  ${paint.warn(cut(line))}`);
  return `${lines.join("\n")}\n`;
}

/** The text of an item in one line. An open question is shown whole: a person decides by it. */
function bodyOf({ ask, isOpen, text }: InboxItem, cut: (text: string) => string): string[] {
  if (isOpen && ask?.question !== undefined) return [indented(ask.question)];
  return text === "" ? [] : [`  ${cut(printableLine(text))}`];
}

/** Commands to copy. An approval takes yes or no only, so both are shown. */
function howToAnswer(
  kind: InboxItem["kind"],
  ask: NonNullable<InboxItem["ask"]>,
  io: Io,
): readonly string[] {
  const left = ask.deadlineAt - io.now();
  const time = left > 0 ? `${formatSpan(left)} left` : "its time is up";
  const then = ask.default === null ? "" : `, then "${printableLine(ask.default)}"`;
  const answer = `${io.program} answer ${printableLine(ask.id)}`;
  const about = `(${time}${then})`;
  return kind === "approval"
    ? [`${answer} yes  ${about}`, `${answer} no`]
    : [`${answer} "…"  ${about}`];
}

function markOf({ isOpen, kind, severity }: InboxItem, { glyphs, paint }: Style): string {
  if (isOpen) return paint.warn(glyphs.asking);
  if (severity === "critical") return paint.bad(glyphs.refused);
  switch (kind) {
    case "finished":
    case "review":
    case "run":
      return severity === "info" ? paint.good(glyphs.done) : paint.bad(glyphs.failed);
    case "interjection":
      return severity === "info" ? paint.dim(glyphs.dot) : paint.warn(glyphs.refused);
    case "ask":
    case "approval":
    case "answer":
    case "plan":
      return paint.dim(glyphs.dot);
    default:
      return kind satisfies never;
  }
}

export const answerCommand: Command = {
  name: "answer",
  usage: '[options] ASK "TEXT"',
  about: "Answers a question that an agent asked. The first answer counts.",
  options: { json: jsonOption },
  words: {
    least: 2,
    most: Number.POSITIVE_INFINITY,
    needs: "the ID of a question, and your answer: see mandate inbox",
  },
  run: (given, io) =>
    withStore(io, async (store) => {
      const [askId = "", ...words] = given.words;
      const outcome = await new Inbox(store).tryAnswer(askId, words.join(" "));
      if (given.flag("json")) printJson(io, { askId, ...outcome });
      else if (outcome.accepted) io.stdout.write(`Answered ${askId}.\n`);
      else throw new MandateError("ask-closed", outcome.reason);
      return outcome.accepted ? exitCode.done : exitCode.failed;
    }),
};
