import { z } from "zod";
import { MandateError } from "../../ports/mandate-error.ts";
import { childTool, refusedStart } from "../delegation/delegation-call.ts";
import { defineTool, type Tool } from "../tool.ts";
import { describeProblem, parseWorkflow } from "./parse-workflow.ts";
import type { WorkflowDocument } from "./workflow-document.ts";
import type { WorkflowSource } from "./workflow-source.ts";

/** The shipped profile that carries out scripts; its model is a program and no language model. */
export const workflowRunner = "workflow-runner";

/** Starts a workflow in the background: for agents, and for programs over MCP. */
export function runWorkflowTool(workflows: WorkflowSource): Tool {
  return defineTool({
    name: "run_workflow",
    description: "Start a workflow script in the background and get its id.",
    ...childTool,
    describesChildren: true,
    input: z.strictObject({
      name: z.string().optional().describe("A listed one"),
      script: z.string().optional().describe("export const meta, then agent(), parallel()"),
      args: z.unknown().optional().describe("Its args"),
    }),
    about: ({ name }) => ({ kind: "text", values: [name ?? "script"] }),
    async execute({ args, name, script }, { delegator, workspace }) {
      if ((name === undefined) === (script === undefined)) {
        return { text: "Error: give a name or a script.", isError: true };
      }
      try {
        const found = name === undefined ? inline(script ?? "") : named(name);
        const document: WorkflowDocument = {
          script: found.script,
          ...(found.file !== undefined && { file: found.file }),
          ...(args !== undefined && { args }),
        };
        const hash = await delegator.keepArtifact(JSON.stringify(document));
        const { description, name: its } = found.meta;
        const task = `${its}: ${description}`;
        const outcome = await delegator.start(
          { profile: workflowRunner, task, title: its, context: `workflow ${hash}` },
          "background",
        );
        if (!outcome.started) return refusedStart(outcome);
        return JSON.stringify({ delegationId: outcome.delegationId });
      } catch (error) {
        if (!(error instanceof MandateError)) throw error;
        return { text: `Error: ${error.message}`, isError: true };
      }

      function named(which: string) {
        return workflows.child(which, workspace?.root ?? null);
      }
    },
  });
}

function inline(script: string) {
  const parsed = parseWorkflow(script, { isInline: true });
  if (!("problem" in parsed)) return { script, meta: parsed.meta, file: undefined };
  throw new MandateError("workflow-invalid", describeProblem("script", parsed.problem));
}
