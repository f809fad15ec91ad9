import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { noExposure } from "../../src/contracts/exposure.ts";
import { defineTool } from "../../src/tools/tool.ts";

export const ledgerFile = "ledger.txt";

/**
 * The one tool here that must not be repeated: whoever reads the file sees how often each call was
 * made. It takes a moment before and after, so that kills hit it in every state.
 */
export const appendLine = defineTool({
  name: "append_line",
  description: "Append a line to the ledger.",
  effect: "write",
  exposure: noExposure,
  idempotent: false,
  scopes: [],
  input: z.strictObject({ line: z.string() }),
  async execute({ line }, { workspace, delegationId, callId }) {
    if (workspace === null) throw new Error("The ledger needs a workspace.");
    await delay(4);
    appendFileSync(join(workspace.root, ledgerFile), `${delegationId} ${callId} ${line}\n`);
    await delay(4);
    return `appended ${line}`;
  },
});
