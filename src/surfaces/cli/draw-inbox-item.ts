import type { InboxItem } from "../../events/inbox-item.ts";
import { formatAge, formatSpan } from "./amounts.ts";
import { shorten } from "./display-width.ts";
import { indented } from "./indented.ts";
import type { Io } from "./io.ts";
import { printableLine } from "./printable.ts";
import { type Style, styleFor } from "./style.ts";

/** An item of the inbox in two lines, and below them how it is answered. */
export function drawInboxItem(item: InboxItem, isUnread: boolean, io: Io): string {
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

/** One line, but of an open question all of it: a person decides by what is shown here. */
function bodyOf({ ask, isOpen, text }: InboxItem, cut: (text: string) => string): string[] {
  if (isOpen && ask?.question !== undefined) return [indented(ask.question)];
  return text === "" ? [] : [`  ${cut(printableLine(text))}`];
}

/** Commands to be copied. Of an approval both that there are, for it takes no other word. */
function howToAnswer(
  kind: InboxItem["kind"],
  ask: NonNullable<InboxItem["ask"]>,
  io: Io,
): readonly string[] {
  const left = ask.deadlineAt - io.now();
  const time = left > 0 ? `${formatSpan(left)} left` : "its time is over";
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
