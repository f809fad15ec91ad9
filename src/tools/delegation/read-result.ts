import { z } from "zod";
import { headOf, tailOf } from "../../text.ts";
import type { ToolContext, ToolOutput } from "../tool.ts";
import { defineTool } from "../tool.ts";
import { childTool, idAliases, readReference, subAgentId } from "./delegation-call.ts";

/** Parts of a result that was too large to join. Each reader returns a bounded piece. */
const pieceLimit = 8000;

const delegationId = subAgentId.describe("The sub-agent's id, or ID/transcript.");

export const peekResultTool = defineTool({
  name: "peek_result",
  description: "See the beginning and the end of a sub-agent's large result, and how long it is.",
  ...childTool,
  aliases: idAliases,
  input: z.strictObject({ delegationId }),
  execute: ({ delegationId }, context) =>
    withResult(delegationId, context, (text) => {
      const lines = text.split("\n");
      const half = pieceLimit / 2;
      const ends =
        text.length <= pieceLimit ? text : `${headOf(text, half)}\n[…]\n${tailOf(text, half)}`;
      return `${text.length} characters, ${lines.length} lines.\n${ends}`;
    }),
});

export const searchResultTool = defineTool({
  name: "search_result",
  description: "Find the lines of a sub-agent's result that contain a text.",
  ...childTool,
  aliases: idAliases,
  input: z.strictObject({
    delegationId,
    query: z.string().min(1).describe("Plain text; case does not matter."),
    limit: z.int().min(1).max(200).optional().describe("Most lines; 50 when absent."),
  }),
  execute: ({ delegationId, query, limit = 50 }, context) =>
    withResult(delegationId, context, (text) => {
      const wanted = query.toLowerCase();
      const found = text
        .split("\n")
        .map((line, index) => `${index + 1}: ${line}`)
        .filter((line) => line.toLowerCase().includes(wanted))
        .slice(0, limit);
      return found.length > 0
        ? headOf(found.join("\n"), pieceLimit)
        : `No line contains "${query}".`;
    }),
});

export const sliceResultTool = defineTool({
  name: "slice_result",
  description: "Read some lines of a sub-agent's result.",
  ...childTool,
  aliases: idAliases,
  input: z.strictObject({
    delegationId,
    from: z.int().min(1).max(1e9).describe("First line, from 1."),
    lines: z.int().min(1).max(1000).optional().describe("Number of lines; 100 when absent."),
  }),
  execute: ({ delegationId, from, lines = 100 }, context) =>
    withResult(delegationId, context, (text) => {
      const piece = text
        .split("\n")
        .slice(from - 1, from - 1 + lines)
        .join("\n");
      return piece.length > pieceLimit
        ? `${headOf(piece, pieceLimit)}\n[… cut: ask for fewer lines]`
        : piece;
    }),
});

async function withResult(
  reference: string,
  { delegator }: ToolContext,
  view: (text: string) => string,
): Promise<ToolOutput> {
  const { id, isTranscript } = readReference(reference);
  if (!(await delegator.isMine(id))) {
    const text = `Error: there is no result of ${id}: you have no sub-agent ${id}`;
    return { text, isError: true };
  }
  const result = await delegator.results.of(id);
  if (result === null) return { text: `Error: there is no result of ${id} yet`, isError: true };
  const text = isTranscript ? await delegator.results.transcript(id) : result.result;
  if (text === null) return { text: `Error: the transcript of ${id} is sealed`, isError: true };
  delegator.results.delivered([id]);
  return view(text);
}
