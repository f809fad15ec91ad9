import { atMost, type Spent } from "../../../events/spent.ts";
import { countOf, formatCost, formatTokens } from "../../cli/amounts.ts";
import { displayWidth, shorten } from "../../cli/display-width.ts";
import { printableLine } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import { type AgentLine, type ChatState, type Figures, openQuestions } from "../chat-state.ts";
import { wrapText } from "./wrap-text.ts";

/** Lines of a notice; the conversation has the whole text. */
const mostOfNotice = 3;

/** The agents at work: `oracle#4 running · pair#2 watching`. As many as fit, and the number of the others. */
export function drawLedger(state: ChatState, style: Style): string {
  const { glyphs, paint } = style;
  const room = state.columns - 2;
  const separator = ` ${glyphs.dot} `;
  const parts = [...state.agents].sort(byUrgency).map((agent) => ({
    agent,
    text: `${printableLine(agent.label)} ${agent.state}`,
  }));
  let used = 0;
  const shown: string[] = [];
  for (const [index, { agent, text }] of parts.entries()) {
    const rest = parts.length - index - 1;
    const more = rest === 0 ? 0 : displayWidth(`${separator}+${rest}`);
    const size = displayWidth(text) + (index === 0 ? 0 : displayWidth(separator));
    if (used + size + more > room) {
      const left = parts.length - index;
      shown.push(index === 0 ? shorten(text, room - more, glyphs.ellipsis) : paint.dim(`+${left}`));
      if (index === 0 && rest > 0) shown.push(paint.dim(`+${rest}`));
      break;
    }
    used += size;
    shown.push(agent.isAsking ? paint.warn(text) : paint.dim(text));
  }
  return ` ${shown.join(paint.dim(separator))}`;
}

/** Asking agents come first, then roots and watchers: the others are many. */
function byUrgency(one: AgentLine, other: AgentLine): number {
  const rank = ({ isAsking, isRoot, isWatching }: AgentLine) =>
    isAsking ? 0 : isRoot ? 1 : isWatching ? 2 : 3;
  return rank(one) - rank(other);
}

/** The last line: open questions, unread items, and the keys for them. */
export function drawStatus(state: ChatState, style: Style): readonly string[] {
  const { glyphs, paint } = style;
  const room = state.columns - 2;
  if (state.notice !== null) {
    const { text, tone } = state.notice;
    const lines = wrapText(printableLine(text), room);
    const rest = lines.slice(mostOfNotice - 1).join(" ");
    const shown = [...lines.slice(0, mostOfNotice - 1), shorten(rest, room, glyphs.ellipsis)];
    const painted = tone === "plain" ? paint.dim : paint[tone];
    return shown.filter((line) => line !== "").map((line) => ` ${painted(line)}`);
  }
  const open = openQuestions(state).length;
  const { unread } = state.inbox;
  const badge = open > 0 ? `${open} to answer` : unread > 0 ? `${unread} new` : "";
  const inbox = badge === "" ? "^O inbox" : `^O inbox (${badge})`;
  const figures = figuresOf(state).join(` ${glyphs.dot} `);
  // Hints that do not fit beside the figures are dropped, then the end of the figures.
  const right =
    hints
      .map((keys) => [inbox, ...keys].join("  "))
      .find((hint) => displayWidth(`${figures}  ${hint}`) <= room) ?? inbox;
  const free = room - displayWidth(right) - 2;
  const left = free < 8 ? "" : shorten(figures, free, glyphs.ellipsis);
  const gap = room - displayWidth(left) - displayWidth(right);
  const tone = open > 0 ? paint.warn : unread > 0 ? paint.accent : paint.dim;
  const drawn = `${tone(inbox)}${paint.dim(right.slice(inbox.length))}`;
  if (gap < 0) return [` ${tone(shorten(inbox, room, glyphs.ellipsis))}`];
  return [` ${paint.dim(left)}${" ".repeat(gap)}${drawn}`];
}

const hints = [["^T tree", "^G sessions", "? keys"], ["^T tree", "? keys"], ["? keys"]];

/** The model, what the session cost, how full the context is, and how many sub-agents work. */
function figuresOf({ agents, figures, session }: ChatState): readonly string[] {
  const { context, model, spent } = figures;
  const [notice = ""] = printableLine(session.modelNotice).split(":");
  const name = printableLine(model.slice(model.indexOf("/") + 1));
  const below = agents.filter(({ isRoot, isWatching }) => !isRoot && !isWatching).length;
  return [
    notice || name,
    ...(spent.tokens > 0 ? [describeSpent(spent)] : []),
    ...(context === null ? [] : [`${describeContext(context)} context`]),
    ...(below > 0 ? [countOf(below, "sub-agent")] : []),
  ].filter((text) => text !== "");
}

/** A model without a price costs nothing that is known: then its tokens count. */
function describeSpent(spent: Spent): string {
  if (spent.cost > 0) return atMost(formatCost(spent.cost), spent);
  return atMost(`${formatTokens(spent.tokens)} tokens`, spent);
}

export function describeContext({ tokens, window }: NonNullable<Figures["context"]>): string {
  if (window === undefined || window <= 0) return formatTokens(tokens);
  return `${Math.min(100, Math.ceil((100 * tokens) / window))}%`;
}
