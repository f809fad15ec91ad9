import { z } from "zod";
import type { Clock } from "../../ports/clock.ts";
import { headOf } from "../../text.ts";
import { childTool } from "../delegation/delegation-call.ts";
import { defineTool, type Tool, type ToolOutput } from "../tool.ts";
import type { WorkflowEnd, WorkflowOrder } from "./carry-out-workflow.ts";
import { describeProblem, parseWorkflow } from "./parse-workflow.ts";
import { readWorkflowDocument, type WorkflowDocument } from "./workflow-document.ts";
import type { WorkflowSource } from "./workflow-source.ts";

interface PerformWorkflowSources {
  readonly workflows: WorkflowSource;
  readonly clock: Clock;
  /** Agents that work at once, where the document does not say it. */
  readonly maxConcurrent: number;
}

/** The format's limit of agents in one run. */
const mostAgents = 1000;

/** The scheduler decides how many of them work; these have a contract. */
const leastAtOnce = 64;

/** Carries out a stored script for its runner, which is no language model. */
export function performWorkflowTool({
  clock,
  maxConcurrent,
  workflows,
}: PerformWorkflowSources): Tool {
  return defineTool({
    name: "perform_workflow",
    description: "Run the stored workflow script of this hash. Waits for what it returns.",
    ...childTool,
    onlyFor: "orchestrator",
    waits: true,
    input: z.strictObject({ workflow: z.string().regex(/^[0-9a-f]{64}$/) }),
    async execute({ workflow: hash }, context): Promise<ToolOutput> {
      const { delegator, signal, workspace } = context;
      const text = await delegator.readArtifact(hash);
      const document = text === undefined ? undefined : readWorkflowDocument(text);
      if (document === undefined) return failed(`there is no stored workflow ${hash}.`);
      const order = orderOf(document, hash, maxConcurrent);
      if (typeof order === "string") return failed(order);
      const { CarriedOutWorkflow } = await import("./carry-out-workflow.ts");
      const workflow = await CarriedOutWorkflow.prepare(order, {
        ...{ clock, delegator, signal },
        recorder: delegator.workflows,
        async findChild(ref) {
          const found = await workflows.child(ref, workspace?.root ?? null);
          const child = parseWorkflow(found.script);
          if ("problem" in child) throw new Error(describeProblem(found.file, child.problem));
          return { name: child.meta.name, body: child.body };
        },
      });
      const end = await workflow.run();
      delegator.results.delivered([...workflow.children]);
      return outputOf(end, document);
    },
  });
}

function orderOf(
  { args, file = "workflow", isLenient = false, limits, resumes, script }: WorkflowDocument,
  document: string,
  maxConcurrent: number,
): WorkflowOrder | string {
  const parsed = parseWorkflow(script, { isLenient });
  if ("problem" in parsed) return describeProblem(file, parsed.problem);
  const { description, name, phases } = parsed.meta;
  return {
    body: parsed.body,
    args,
    total: limits?.outputTokens ?? null,
    maxAgents: Math.min(mostAgents, limits?.maxAgents ?? mostAgents),
    // An agent that waits to be merged takes a place as well.
    maxConcurrent: limits?.maxConcurrent ?? Math.max(leastAtOnce, 2 * maxConcurrent),
    started: {
      ...{ description, document, name },
      phases: phases.map(({ detail, title }) => ({
        title,
        ...(detail !== undefined && { detail }),
      })),
      ...(resumes !== undefined && { resumes }),
    },
  };
}

/** A text is the answer as it is; any other value is JSON. */
function outputOf(end: WorkflowEnd, { file = "workflow" }: WorkflowDocument): ToolOutput {
  if ("failed" in end) {
    const { message, name } = end.failed;
    const place = end.place === undefined ? "" : ` (${file}:${end.place})`;
    return failed(headOf(`${name}: ${message}${place}`, 10_000));
  }
  const value: unknown = JSON.parse(end.json);
  return { text: "The script has returned.", exit: typeof value === "string" ? value : end.json };
}

function failed(text: string): ToolOutput {
  return { text, isError: true };
}
