import { z } from "zod";
import { keptWorkIn } from "../../../application/kept-copies.ts";
import type { KeptWork, MergedWork } from "../../../application/kept-work/kept-work.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import { headOf } from "../../../text.ts";
import { defineRoute, type Host } from "../route.ts";
import { requireServed } from "./place-of-request.ts";
import { delegationId, listOf, plainData, runId } from "./shared-schemas.ts";

const changedFiles = listOf(
  z.object({
    path: z.string(),
    change: z.enum(["added", "removed", "changed"]),
    lines: z.object({ added: z.number(), removed: z.number() }).nullable(),
  }),
);

/** What a delegation changed in its working copy. */
const delegationDiff = z.object({
  runId: z.string(),
  delegationId: z.string(),
  status: z.enum(["created", "running", "waiting_for_merge", "completed", "failed"]),
  source: z.enum(["copy", "log"]),
  files: changedFiles,
  added: z.number().meta({ description: "Lines in all files whose lines are known." }),
  removed: z.number(),
  text: z.string(),
  truncated: z.boolean(),
  problems: listOf(z.string()),
});

const mergeBody = z.strictObject({
  anyPath: z.boolean().optional(),
  skipChecks: z.boolean().optional(),
  withConfiguration: z.boolean().optional(),
});

/** A conflict is a normal reply, and changes nothing. */
export const mergeReply = z.object({
  delegationId: z.string(),
  status: z.enum(["merged", "conflict", "violation", "refused"]),
  into: z.string(),
  copy: z.enum(["removed", "kept"]),
  files: listOf(z.string()),
  sentence: z.string().nullable().meta({ description: "Why it was not merged; null: it was." }),
  ref: z
    .string()
    .nullable()
    .meta({ description: "The git ref of the commit, if it was not merged." }),
  details: plainData<Readonly<Record<string, unknown>>>("All details of the integration."),
});

const discardBody = z.strictObject({
  deleteChanges: z
    .boolean()
    .optional()
    .meta({ description: "Also delete changes that were not merged." }),
});

const discardReply = z.object({
  delegationId: z.string(),
  status: z.enum(["discarded", "kept"]),
  files: listOf(z.string()),
  sentence: z.string().nullable(),
});

/** What a run changed in its folder, and what is still in working copies. */
const runChanges = z.object({
  files: changedFiles,
  total: z.number().meta({ description: "Of files; the list has at most 2000." }),
  hasCommands: z
    .boolean()
    .meta({ description: "Commands ran in the folder, and may have changed other files." }),
  kept: listOf(z.string()).meta({
    description: "The failed delegations whose changes wait for a merge or a discard.",
  }),
});

const tag = "delegations";
const mostFiles = 2000;
const params = z.object({ delegationId });
const longestDiff = 4 * 1024 * 1024;

export const keptWorkRoutes = [
  defineRoute({
    id: "getRunChanges",
    method: "GET",
    path: "/runs/:runId/changes",
    summary: "Lists the files that a run changed, and the changes that were kept and not merged.",
    tag: "runs",
    role: "viewer",
    cost: 10,
    params: z.object({ runId }),
    reply: runChanges,
    async handle({ params: { runId: id } }, { runtime }) {
      const { store, workFolder: home } = runtime;
      const run = await readRunOf(store, id);
      // Loaded on demand: most servers never use git.
      const { changesOfRun } = await import("../../../application/kept-work/changes-of-run.ts");
      await runtime.settleCopies();
      const { files, hasCommands } = await changesOfRun({ store, home }, run);
      const kept = await keptWorkIn({ store, home }, run.delegations.values());
      return { files: files.slice(0, mostFiles), total: files.length, hasCommands, kept };
    },
  }),
  defineRoute({
    id: "diffDelegation",
    method: "GET",
    path: "/delegations/:delegationId/diff",
    summary: "Shows what a delegation changed in its working copy, as text and by file.",
    tag,
    role: "viewer",
    params,
    reply: delegationDiff,
    async handle({ params: { delegationId: id }, signal }, host) {
      const work = await keptWork(host, id);
      const diff = await work.diff(id, { maximumBytes: longestDiff, signal });
      const text = headOf(diff.text, longestDiff);
      let [added, removed] = [0, 0];
      for (const { lines } of diff.files) {
        added += lines?.added ?? 0;
        removed += lines?.removed ?? 0;
      }
      const truncated = diff.truncated || text.length < diff.text.length;
      return { ...diff, text, truncated, added, removed };
    },
  }),
  defineRoute({
    id: "mergeDelegation",
    method: "POST",
    path: "/delegations/:delegationId/merge",
    summary: "Merges the working copy of a failed delegation, by the rules of its contract.",
    tag,
    role: "operator",
    params,
    body: mergeBody,
    reply: mergeReply,
    async handle({ body, params: { delegationId: id }, principal, signal }, host) {
      const { workspace } = await readRunOf(host.runtime.store, id);
      await requireServed(host, workspace);
      const { anyPath = false, skipChecks = false, withConfiguration = false } = body;
      const options = { anyPath, skipChecks, withConfiguration, signal };
      const work = await keptWork(host, id);
      return describeMerge(await work.merge(id, principal, host.runtime, options));
    },
  }),
  defineRoute({
    id: "discardDelegation",
    method: "POST",
    path: "/delegations/:delegationId/discard",
    summary:
      "Removes the working copy of a delegation. Unmerged changes are deleted only with deleteChanges.",
    tag,
    role: "operator",
    params,
    body: discardBody,
    reply: discardReply,
    async handle({ body, params: { delegationId: id }, principal }, host) {
      const { workspace } = await readRunOf(host.runtime.store, id);
      await requireServed(host, workspace);
      const work = await keptWork(host, id);
      const { deleteChanges = false } = body;
      const discarded = await work.discard(id, principal, { deleteChanges });
      return { sentence: null, ...discarded };
    },
  }),
];

/** Loaded on demand: most servers never use git. */
async function keptWork({ runtime }: Host, id: string): Promise<KeptWork> {
  await readRunOf(runtime.store, id);
  const { KeptWork: Work } = await import("../../../application/kept-work/kept-work.ts");
  // The copy of a delegation that has just failed may still be examined.
  await runtime.settleCopies();
  return new Work({ store: runtime.store, home: runtime.workFolder });
}

function describeMerge(merged: MergedWork): z.infer<typeof mergeReply> {
  const { copy, delegationId: id, into, status } = merged;
  const isMerged = merged.status === "merged";
  const { delegationId: _id, into: _into, copy: _copy, ...details } = merged;
  return {
    delegationId: id,
    status,
    into,
    copy,
    files: isMerged ? merged.files.map(({ path }) => path) : merged.files,
    sentence: isMerged ? null : merged.sentence,
    ref: isMerged ? null : merged.ref,
    details,
  };
}
