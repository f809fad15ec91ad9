import { z } from "zod";
import {
  readWorkflowRun,
  skipAgent,
  type WorkflowRun,
} from "../../../application/workflow-runs.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { readRunOf } from "../../../sessions/read-run.ts";
import type { WorkflowCallView } from "../../../sessions/workflow-view.ts";
import { defineRoute, type Host } from "../route.ts";
import { delegationId, listOf, plainData, runId } from "./shared-schemas.ts";

const workflowDetail = z.object({
  runId: z.string(),
  outcome: z.enum(["succeeded", "failed", "cancelled"]).nullable(),
  delegationId: z.string(),
  name: z.string(),
  description: z.string(),
  document: z.string().meta({ description: "The hash of the stored script." }),
  resumes: z.string().nullable(),
  phases: listOf(z.string()),
  calls: listOf(
    plainData<WorkflowCallView>(
      "{ key, kind, label, phase, state, why?, delegation?, usage?, error? }",
    ),
  ),
  lines: listOf(z.string()),
  workflows: listOf(z.object({ delegationId: z.string(), name: z.string() })).meta({
    description: "All workflows of the run: agents can start some beside that of the run.",
  }),
});

const skipBody = z.strictObject({
  key: z.string().min(1).max(200).meta({ description: "The agent's call, as in its workflow." }),
  delegationId: delegationId.optional().meta({
    description: "The delegation that carries out the workflow; default: that of the run.",
  }),
});

const skipReply = z.object({
  delegationId: z.string().meta({ description: "The agent that was skipped." }),
  outcome: z.enum(["skipped", "already_terminal"]),
});

const tag = "runs";
const params = z.object({ runId });

/** Workflows of runs. They are started, stopped and resumed as all runs are. */
export const workflowRoutes = [
  defineRoute({
    id: "getWorkflow",
    method: "GET",
    path: "/runs/:runId/workflow",
    summary: "Shows the workflow of a run: phases, calls, which were replayed, which ran and why.",
    tag,
    role: "viewer",
    cost: 5,
    params,
    query: z.strictObject({
      delegationId: delegationId.optional().meta({ description: "One that an agent started." }),
    }),
    reply: workflowDetail,
    async handle({ params: { runId: id }, query }, host) {
      const { run, view, workflows } = await workflowOf(host, id, query.delegationId);
      const all = workflows.map(({ delegationId: of, name }) => ({ delegationId: of, name }));
      return { runId: id, outcome: run.outcome, ...view, workflows: all };
    },
  }),
  defineRoute({
    id: "skipWorkflowAgent",
    method: "POST",
    path: "/runs/:runId/workflow/skip",
    summary: "Skips one agent of a workflow that works: its script gets null, and continues.",
    tag,
    role: "operator",
    cost: 5,
    params,
    body: skipBody,
    reply: skipReply,
    async handle({ body: { delegationId: of, key }, params: { runId: id }, principal }, host) {
      const found = await workflowOf(host, id, of);
      return skipAgent(host.runtime, found, { key, reason: `skipped by ${principal.id}` });
    },
  }),
];

async function workflowOf(
  { runtime: { store } }: Host,
  id: string,
  of: string | undefined,
): Promise<WorkflowRun> {
  await readRunOf(store, id);
  const found = await readWorkflowRun(store, of ?? id);
  if (found?.run.id === id) return found;
  throw new MandateError("unknown-run", `Run ${id} carries out no workflow${of ? ` ${of}` : ""}.`);
}
