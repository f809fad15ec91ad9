import { expect, test } from "vitest";
import type { Cause } from "../../events/cause.ts";
import { exampleCauses } from "../../events/example-causes.test-support.ts";
import { reportOutcome } from "./attend.ts";
import type { Arguments } from "./command.ts";
import type { Io } from "./io.ts";
import type { WorkOutcome } from "./work-on.ts";

/** What a person is told to do next, when an agent has failed for this and its result says that. */
async function hintFor(cause: Cause, said: string): Promise<string> {
  let err = "";
  const stream = { isTerminal: false, columns: 80, write: (text: string) => (err += text) };
  const io = { program: "mandate", environment: {}, stdout: stream, stderr: stream };
  const outcome = {
    ended: "result",
    run: { runId: "r000001", delegationId: "d00001" },
    result: { status: "failed", closeReason: "budget_exhausted", result: said },
  };
  const given = { flag: () => false };
  await reportOutcome(
    outcome as unknown as WorkOutcome,
    given as unknown as Arguments,
    io as unknown as Io,
    {
      end: "failed",
      kept: [],
      cause,
    },
  );
  return /Give it more: (.*)\. Details/.exec(err)?.[1] ?? err;
}

test("the hint follows from the cause, whatever the sentence says", async () => {
  const hints: string[] = [];
  for (const cause of exampleCauses) {
    const plain = await hintFor(cause, "the cost is spent");
    expect({ cause, hint: await hintFor(cause, "?tneps si tsoc") }).toEqual({ cause, hint: plain });
    if (plain === "mandate resume --max-cost DOLLARS r000001") hints.push(cause.code);
  }
  expect(hints).toEqual(["model_unpriced", "cost_spent", "cost_too_small"]);
});
