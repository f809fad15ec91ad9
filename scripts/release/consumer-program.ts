/**
 * What somebody writes who uses the package: every entry point, no key, no network. The same text
 * is run as JavaScript and checked as TypeScript.
 */
export const consumerProgram = `
import { createMandate, defineTool, MandateError } from "mandate";
import { MandateApiError, MandateClient } from "mandate/client";
import { checkStore, scriptedModel, testProfile } from "mandate/testing";
import { z } from "zod";

const stock = defineTool({
  name: "stock",
  description: "How many of a thing are in store.",
  effect: "read",
  exposure: { untrusted: false, private: true, wayOut: false },
  idempotent: true,
  scopes: [],
  input: z.strictObject({ thing: z.string() }),
  execute: ({ thing }) => thing.toUpperCase() + ": 12",
});

const mandate = await createMandate({
  database: ":memory:",
  environment: {},
  tools: [stock],
  profiles: [
    testProfile("keeper", { tools: ["delegate_task", "stock"] }),
    testProfile("clerk", { tools: ["stock"] }),
  ],
  scripted: scriptedModel(({ caller, messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return "There are twelve.";
    if (caller.profile === "clerk") return { calls: [{ tool: "stock", input: { thing: "lamp" } }] };
    return { calls: [{ tool: "delegate_task", input: { profile: "clerk", task: "Count" } }] };
  }),
});
const result = await mandate.delegate({ profile: "keeper", task: "How many lamps?" });
const { violations } = await mandate.verify();
const refusal = await mandate.delegate({ profile: "nobody", task: "" }).catch((error) => error);
await mandate.close();

const client = new MandateClient({
  url: "http://127.0.0.1:4848",
  token: "t",
  fetch: async () => new Response("{}", { status: 401 }),
});
const answer = await client.listRuns({}).catch((error) => error);

const problems = [
  result.status === "completed" || "the delegation is " + result.status,
  result.result === "There are twelve." || "it said " + result.result,
  result.subDelegations?.[0]?.evidence.calls?.["stock"] === 1 || "the clerk did not count",
  violations.length === 0 || "violations: " + JSON.stringify(violations),
  refusal instanceof MandateError || "an unknown profile gave " + refusal,
  answer instanceof MandateApiError || "a refused request gave " + answer,
  typeof checkStore === "function" || "there is no checker",
].filter((problem) => problem !== true);
for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? "all is well" : "not well", process.version);
process.exitCode = problems.length;
`;

/** What has to be refused by the types: a consumer's mistakes are found while they write. */
export const consumerMistakes = `
import { createMandate, type DelegationResult, type Mandate } from "mandate";
import { MandateClient } from "mandate/client";

export async function mistaken(mandate: Mandate, client: MandateClient): Promise<DelegationResult> {
  // @ts-expect-error A database is named by its path.
  await createMandate({ database: 4 });
  // @ts-expect-error Nobody to do it.
  await mandate.delegate({ task: "Count" });
  // @ts-expect-error There is no such request.
  await client.inventRun({});
  return mandate.delegate({ profile: "clerk", task: "Count" });
}
`;
