import { MandateError } from "../../../ports/mandate-error.ts";
import { Inbox } from "../../../sessions/inbox/inbox.ts";
import { countOf } from "../amounts.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import { drawInboxItem } from "../draw-inbox-item.ts";
import { exitCode } from "../exit-code.ts";
import { followItems } from "../follow-items.ts";
import { type InboxPage, type InboxView, readInboxPage } from "../inbox-page.ts";
import type { Io } from "../io.ts";
import { printableJson } from "../printable.ts";
import { withStore } from "../with-store.ts";

export const inboxCommand: Command = {
  name: "inbox",
  usage: "[options]",
  about:
    "Shows what people should know of all runs: questions from any depth, what was handed in,\n" +
    "reviews, remarks of watchers, plans, ends. Without an option: what waits for an answer, and\n" +
    "what you have not seen. Reading takes nothing out; what a terminal has shown counts as seen.",
  options: {
    all: { type: "flag", help: "the latest items, seen or not" },
    unread: { type: "flag", help: "only what you have not seen" },
    open: { type: "flag", help: "only what waits for an answer" },
    follow: { type: "flag", short: "f", help: "go on showing what comes" },
    keep: { type: "flag", help: "count nothing as seen" },
    reader: { type: "text", value: "NAME", help: "who reads; each has seen what it has (local)" },
    limit: { type: "text", value: "NUMBER", help: "how many at most (50)" },
    json: jsonOption,
  },
  words: { least: 0, most: 0 },
  examples: ["inbox --all --limit 10", "inbox --open --json", "inbox --follow"],
  run: (given, io) =>
    withStore(io, async (store) => {
      const inbox = new Inbox(store, { reader: given.text("reader") ?? "local" });
      const view = viewOf(given);
      const page = await readInboxPage(inbox, view, given.count("limit") ?? 50);
      // A program that reads decides for itself; only what a person had before them was seen.
      const marks = io.stdout.isTerminal && !given.flag("json") && !given.flag("keep");
      if (!given.flag("follow")) {
        if (given.flag("json")) io.stdout.write(`${printableJson(documentOf(page), 2)}\n`);
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
    // A thousand stands for as many, or more.
    const number = unread < 1000 ? countOf(left, "item") : "Many items";
    io.stderr.write(`\n${number} more that you have not seen: ${io.program} inbox --unread\n`);
  }
}
