import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { DelegationResult, Delegator } from "../../ports/delegator.ts";
import { defineTool } from "../tool.ts";
import { aboutTranscript, fitResult } from "./fit-result.ts";
import { commaList } from "./spawn.ts";

const maxWait = z
  .int()
  .positive()
  .optional()
  .describe("Return after this time with what is done by then.");

export const spawnAwaitTool = defineTool({
  name: "spawn_await",
  description:
    "Wait for spawned jobs and get their results. Results stay retrievable; failed jobs are marked in the text.",
  effect: "spawn",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  changes: "none",
  polls: "results",
  waits: true,
  // A missing argument is answered by the tool itself, in its own words.
  input: z.strictObject({ job_ids: z.string().optional(), max_wait_ms: maxWait }),
  shown: z.strictObject({
    job_ids: z.string().describe("Comma-separated job ids, or * for all jobs not yet awaited."),
    max_wait_ms: maxWait,
  }),
  async execute(input, { delegator }) {
    const asked = input.job_ids?.trim() ?? "";
    if (asked === "") return { text: "Error: job_ids is required", isError: true };
    const ids = asked === "*" ? await delegator.notYetJoined() : [...new Set(commaList(asked))];
    if (ids.length === 0) return "No jobs found.";
    const own = await Promise.all(ids.map((id) => delegator.isMine(id)));
    const mine = ids.filter((_, index) => own[index]);
    const results = await delegator.join(mine, input.max_wait_ms);
    delegator.delivered(mine.filter((id) => results.get(id) !== null));
    const share = Math.floor(delegator.joinTokens / ids.length);
    return ids.map((id) => block(id, results.get(id), { tokens: share, delegator })).join("\n\n");
  },
});

interface Room {
  readonly tokens: number;
  readonly delegator: Delegator;
}

function block(
  id: string,
  result: DelegationResult | null | undefined,
  { delegator, tokens }: Room,
): string {
  if (result === undefined) return `[${id}: NOT FOUND]`;
  if (result === null) return `[${id}: RUNNING]`;
  const text = [fitResult(result, tokens), ...aboutTranscript(result, delegator)].join("\n");
  return result.status === "completed" ? `[${id}: OK]\n${text}` : `[${id}: ERROR]\n${text}`;
}
