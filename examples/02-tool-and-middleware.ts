/**
 * A tool of your own, a profile that may use nothing else, and middleware that sees every call at
 * every depth. The scripted model tries a tool it was not granted: the gate refuses it.
 */
import { createMandate, defineTool } from "mandate";
import { scriptedModel } from "mandate/testing";
import { z } from "zod";

const calls: string[] = [];

const mandate = await createMandate({
  database: ":memory:",
  tools: [
    defineTool({
      name: "stock",
      description: "How many of a thing are in store.",
      effect: "read",
      // No stranger wrote what it returns, it is nobody else's business, and it sends nothing away.
      exposure: { untrusted: false, private: true, wayOut: false },
      idempotent: true,
      scopes: ["warehouse:read"],
      input: z.strictObject({ thing: z.string() }),
      execute: ({ thing }) => `${thing}: 12`,
    }),
  ],
  profiles: [
    {
      name: "clerk",
      description: "Counts what is in store",
      capabilities: ["subtask"],
      prompt: "You count.",
      tools: ["stock"],
      origin: "example",
    },
  ],
  middleware: [
    {
      async call({ call, depth }, next) {
        calls.push(`${depth} ${call.name}`);
        return next();
      },
    },
  ],
  scripted: scriptedModel(({ caller, messages }) => {
    if (caller.turn === 1)
      return { calls: [{ tool: "write_file", input: { path: "x", content: "y" } }] };
    if (caller.turn === 2) return { calls: [{ tool: "stock", input: { thing: "rope" } }] };
    return { text: messages.at(-1)?.text ?? "" };
  }),
});

const refusals: string[] = [];
mandate.on("agent.tool_denied", ({ payload }) => refusals.push(payload.rule));

const result = await mandate.delegate({ profile: "clerk", task: "How much rope is there?" });
console.log(result.result);
console.log("calls seen:", calls.join(", "));
console.log("refused:", refusals.join(", "));
await mandate.close();

const isRight =
  result.result === "rope: 12" && refusals.join() === "tool_not_granted" && calls.length === 2;
if (!isRight) process.exitCode = 1;
