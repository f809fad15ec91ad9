import type { ProfileSource } from "../../delegations/engine-parts.ts";
import type { Store } from "../../ports/store.ts";
import { profileHash } from "../../profiles/profile-hash.ts";
import type { Tool, ToolContext, ToolOutput } from "../../tools/tool.ts";
import type { ContentKey, ReusableResult } from "./reusable-results.ts";

export interface ReuseSources {
  readonly store: Store;
  readonly profiles: Pick<ProfileSource, "get">;
}

/**
 * Lets agents of forked runs have the results of children that the old run had finished: a call that
 * delegates the same to the same profile is answered with them. Whether a run is a fork, and of what,
 * is in its log. A result is taken once, so that whoever asks for the same twice gets it done twice.
 */
export class ReusedResults {
  /** How far each fork's history goes that was started here: children may have ended since. */
  readonly #reach = new Map<string, number>();
  readonly #left = new Map<string, Promise<ReusableResult[]>>();
  #sources: ReuseSources | null = null;

  /** Before the first fork: until then nothing is looked up. */
  begin(sources: ReuseSources): void {
    this.#sources = sources;
  }

  expect(resumedFrom: string, resumedAt: number, reach: number): void {
    this.#reach.set(`${resumedFrom} ${resumedAt}`, reach);
  }

  /** Around the tools that delegate and wait. */
  readonly around = (tool: Tool): Tool => {
    const asks = askedBy[tool.name];
    if (asks === undefined) return tool;
    return {
      ...tool,
      execute: (input, context) => {
        const sources = this.#sources;
        if (sources === null) return tool.execute(input, context);
        const key = keyOf(asks(input), context, sources);
        return this.#reuse(key, context, sources, () => tool.execute(input, context));
      },
    };
  };

  async #reuse(
    key: ContentKey | undefined,
    { runId }: ToolContext,
    sources: ReuseSources,
    otherwise: () => Promise<ToolOutput> | ToolOutput,
  ): Promise<ToolOutput> {
    const left = key === undefined ? [] : await this.#leftFor(runId, sources);
    const place = left.findIndex((result) => isSame(result.key, key));
    const [found] = place < 0 ? [] : left.splice(place, 1);
    if (found === undefined) return otherwise();
    return `${found.text}\n\n[Taken over from ${found.delegationId}, which was given the same task in the run that this one was forked from.]`;
  }

  #leftFor(runId: string, sources: ReuseSources): Promise<ReusableResult[]> {
    const known = this.#left.get(runId) ?? this.#read(runId, sources);
    this.#left.set(runId, known);
    return known;
  }

  async #read(runId: string, { store }: ReuseSources): Promise<ReusableResult[]> {
    const run = await store.readRun(runId);
    const [root] = run?.delegations.values() ?? [];
    const { resumedAt, resumedFrom } = root ?? {};
    if (typeof resumedFrom !== "string" || typeof resumedAt !== "number") return [];
    const from = await store.findRun(resumedFrom);
    if (from === undefined) return [];
    const reach = this.#reach.get(`${resumedFrom} ${resumedAt}`) ?? resumedAt;
    const { reusableResults } = await import("./reusable-results.ts");
    return [...(await reusableResults(store, from, reach))];
  }
}

interface Asked {
  readonly name: string;
  readonly task: string;
  readonly context?: string | undefined;
}

/** The tools that wait for one child, and how each names what it is to do. */
const askedBy: Readonly<Record<string, (input: unknown) => Asked>> = {
  delegate_task(input) {
    const { context, profile, task } = input as { profile: string; task: string; context?: string };
    return { name: profile, task, context };
  },
  delegate_to_agent(input) {
    const asked = input as { agentId: string; task_instructions: string };
    return { name: asked.agentId, task: asked.task_instructions };
  },
};

/** Undefined: nobody of that name; the tool itself says so. */
function keyOf(
  { context, name, task }: Asked,
  { delegator }: ToolContext,
  { profiles }: ReuseSources,
): ContentKey | undefined {
  const profile = profiles.get(delegator.profileBehind(name) ?? "");
  if (profile === undefined) return undefined;
  const { opening } = profile;
  const both = [opening, context].filter((part) => part !== undefined);
  return {
    profile: profileHash(profile),
    task,
    context: both.length === 0 ? null : both.join("\n\n"),
  };
}

function isSame(one: ContentKey, other: ContentKey | undefined): boolean {
  return one.profile === other?.profile && one.task === other.task && one.context === other.context;
}
