import type { Profile } from "../../agents/profiles/profile.ts";
import type { Granted } from "../../contracts/narrow.ts";
import { includes } from "../../contracts/selection.ts";
import type { Resolved } from "../../control/records/resolve-profile.ts";
import { headOfBytes } from "../../text.ts";
import { systemPrompt } from "../../tools/system-prompt.ts";
import { leastForAnswer, promptBound } from "../budget.ts";
import { canCount } from "../turns/prompt.ts";
import { exitRuleOf } from "./grant.ts";
import type { Placement, Start } from "./placement.ts";

/** What a contract is made of beside the request. */
export interface Fitted {
  readonly granted: Granted;
  readonly system: string;
  /** Tools that the budget has no room for; absent: it has room for all. */
  readonly beyondBudget?: readonly string[];
  /** Files of the workspace are part of the prompt. */
  readonly hasFiles: boolean;
}

/**
 * The system prompt of a new delegation, and its grant. Where the token budget has no room for that
 * prompt and the granted tools, the prompt is the beginning of the profile's, and of the tools only
 * one that hands in the result is left: a small budget then buys one short answer, not none.
 */
export function fitToBudget(
  start: Start,
  { profile }: Resolved,
  granted: Granted,
  placement: Placement | null,
): Fitted {
  const { request, run, way } = start;
  if (start.system !== undefined) return { granted, system: start.system, hasFiles: false };
  let hasFiles = false;
  const system = systemPrompt(run.parts, {
    profile,
    granted,
    task: request.task,
    workspace: placement?.binding ?? null,
    own: request.systemPrompt,
    onFile: () => {
      hasFiles = true;
    },
  });
  const whole = { granted, system, hasFiles };
  const { review, tools: exits = [] } = exitRuleOf(start, profile) ?? {};
  // A review costs more than a short answer.
  if (way === "session" || way === "watch" || review !== undefined) return whole;
  // The gateway refuses what does not fit, request by request.
  if (profile.runner !== undefined) return whole;
  const needed = leastFor(start, profile, whole);
  if (needed <= granted.tokens) return whole;
  const held = granted.mayUse.tools as readonly string[];
  const kept = exits.filter((tool) => includes(held, tool)).slice(0, 1);
  const beyondBudget = held.filter((tool) => !kept.includes(tool));
  const line = {
    field: "tools",
    requested: held,
    granted: kept,
    dropped: beyondBudget,
    reason: `a budget of ${granted.tokens} tokens has room for one short answer only; with tools it needs at least ${needed}`,
  };
  const mayUse = { ...granted.mayUse, tools: kept };
  return {
    beyondBudget,
    granted: {
      ...{ ...granted, mayUse, beyondDepth: [], canSpawn: false },
      receipt: [...granted.receipt, line],
    },
    system: briefOf(request.systemPrompt ?? profile.prompt),
    hasFiles: false,
  };
}

/** The tokens of one answer with the whole prompt, by the same bound as for the first turn. */
function leastFor(
  { request, run: { parts } }: Start,
  { model }: Profile,
  { granted, system }: Fitted,
): number {
  const toolTokens = parts.toolbox.offer(granted.mayUse.tools as readonly string[]).tokens;
  const bytes = Buffer.byteLength(request.task) + Buffer.byteLength(request.context ?? "");
  const systemBytes = Buffer.byteLength(system);
  const bound = promptBound({ counted: null, bytesSince: bytes, systemBytes, toolTokens });
  // Where the bytes do not fit, a model that counts finds fewer tokens than this.
  const counted = Math.ceil((systemBytes + 2 * toolTokens + bytes) / 2.5);
  const prompt = canCount(parts, granted.model) ? Math.min(bound, counted) : bound;
  const maxOutput = model?.maxOutputTokens ?? parts.limits.maxOutputTokens;
  return leastForAnswer({ prompt, maxOutput, price: undefined }).tokens;
}

const briefBytes = 400;

/** The beginning of a prompt, up to its first section. */
function briefOf(prompt: string): string {
  const [beginning = ""] = prompt.split(/^##/m, 1);
  const about = headOfBytes(beginning.trim(), briefBytes);
  return `${about}\n\nThe token budget has room for one short answer, and for no other tools. Say what you could not do.`.trim();
}
