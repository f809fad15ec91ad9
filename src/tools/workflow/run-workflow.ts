import { z } from "zod";
import type { Delegator } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { childTool, refusedStart } from "../delegation/delegation-call.ts";
import { defineTool, type Tool } from "../tool.ts";
import { describeProblem, parseWorkflow } from "./parse-workflow.ts";
import { readWorkflowDocument, type WorkflowDocument } from "./workflow-document.ts";
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
      script: z.string().optional().describe("export const meta, agent(), parallel()"),
      args: z.unknown().optional().describe("Its args"),
      resume: z.string().optional().describe("An ended one: its results stand"),
    }),
    about: ({ name, resume }) => ({ kind: "text", values: [name ?? resume ?? "script"] }),
    async execute({ args, name, resume, script }, { delegator, workspace }) {
      try {
        const recorded = resume === undefined ? undefined : await recordedIn(delegator, resume);
        const given = await scriptOf({ name, script, recorded }, workspace?.root ?? null);
        const document: WorkflowDocument = {
          ...recorded,
          ...given.document,
          ...(args !== undefined && { args }),
          ...(resume !== undefined && { resumes: resume }),
        };
        const hash = await delegator.keepArtifact(JSON.stringify(document));
        const { description, name: title } = given.meta;
        const task = `${title}: ${description}`;
        const outcome = await delegator.start(
          { profile: workflowRunner, task, title, context: `workflow ${hash}` },
          "background",
        );
        if (!outcome.started) return refusedStart(outcome);
        return JSON.stringify({ delegationId: outcome.delegationId });
      } catch (error) {
        if (!(error instanceof MandateError)) throw error;
        return { text: `Error: ${error.message}`, isError: true };
      }
    },
  });

  interface Given {
    readonly name: string | undefined;
    readonly script: string | undefined;
    readonly recorded: WorkflowDocument | undefined;
  }

  function scriptOf({ name, recorded, script }: Given, root: string | null) {
    if (name !== undefined && script === undefined) {
      const found = workflows.child(name, root);
      return { document: { script: found.script, file: found.file }, meta: found.meta };
    }
    if (name !== undefined || (script ?? recorded) === undefined) {
      throw new MandateError("usage", "give a name or a script.");
    }
    const text = script ?? recorded?.script ?? "";
    const parsed = parseWorkflow(text, {
      isLenient: recorded?.isLenient ?? false,
      isInline: script !== undefined,
    });
    if (!("problem" in parsed)) return { document: { script: text }, meta: parsed.meta };
    throw new MandateError("workflow-invalid", describeProblem("script", parsed.problem));
  }
}

/** What the resumed workflow was given. */
async function recordedIn(
  delegator: Pick<Delegator, "readArtifact" | "workflows">,
  id: string,
): Promise<WorkflowDocument> {
  const found = await delegator.workflows.resumable(id);
  if ("problem" in found) throw new MandateError("not-resumable", found.problem);
  const text = await delegator.readArtifact(found.document);
  const document = text === undefined ? undefined : readWorkflowDocument(text);
  if (document !== undefined) return document;
  throw new MandateError("not-resumable", `the script of ${id} was removed.`);
}
