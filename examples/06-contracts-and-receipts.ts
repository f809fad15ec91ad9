/**
 * What a child is granted, and what is refused. The lead may read and delegate, so the coder below it
 * can do no more than read, whatever its own profile says: the receipt has the difference before the
 * first model call. What it then tries all the same is refused at the call, with a rule and a
 * sentence that its model can read.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate, MandateError, type ReceiptLine } from "mandate";
import { type ScriptedReply, scriptedModel } from "mandate/testing";

const root = mkdtempSync(join(tmpdir(), "mandate-example-"));
const project = join(root, "project");
mkdirSync(project);
writeFileSync(join(project, "tides.txt"), "noon\n");
writeFileSync(join(project, "harbour.key"), "do not read\n");

const receipts = new Map<string, readonly ReceiptLine[]>();
const refusals: string[] = [];

const mandate = await createMandate({
  cwd: project,
  environment: { HOME: root },
  database: ":memory:",
  profiles: [
    {
      name: "lead",
      description: "Looks and delegates",
      capabilities: ["primary"],
      prompt: "You lead.",
      tools: ["read_file", "list_files", "delegate_task"],
      // A rule takes away from what is granted, and binds everybody below as well.
      toolRules: [{ tool: "*", match: "**.key", action: "deny" }],
      limits: { tokens: 40_000 },
      origin: "example",
    },
  ],
  scripted: scriptedModel(({ caller, messages }): ScriptedReply => {
    if (caller.profile === "lead") {
      if (caller.turn > 1) return { text: "Seen." };
      const input = { profile: "coder", task: "Mend tides.txt", maxTokens: 900_000 };
      return { calls: [{ tool: "delegate_task", input }] };
    }
    if (caller.turn > 1) return { text: messages.at(-1)?.text ?? "" };
    return {
      calls: [
        { tool: "write_file", input: { path: "tides.txt", content: "midnight\n" } },
        { tool: "read_file", input: { path: "harbour.key" } },
        { tool: "read_file", input: { path: "../elsewhere.txt" } },
        { tool: "read_file", input: { path: "tides.txt" } },
      ],
    };
  }),
});

mandate.on("agent.subagent_created", ({ payload }) => {
  receipts.set(payload.profile, payload.receipt ?? []);
});
mandate.on("agent.tool_denied", ({ payload }) => {
  refusals.push(payload.rule);
  console.log(`refused (${payload.rule}): ${payload.error}`);
});

const { subDelegations } = await mandate.delegate({
  profile: "lead",
  task: "Have tides.txt mended.",
  workspace: project,
});
const [coder] = subDelegations ?? [];

for (const { field, requested, granted, dropped = [], reason } of receipts.get("coder") ?? []) {
  const line = `${field}: asked ${requested}, granted ${granted}`;
  console.log(`receipt · ${line}${dropped.length > 0 ? `, dropped ${dropped}` : ""} · ${reason}`);
}
console.log("what it could read:", coder?.result.trim());

// What a caller itself does wrong is thrown, and nothing has been created.
const mistake = await mandate.delegate({ profile: "nobody", task: "x" }).catch((error) => error);
console.log(mistake instanceof MandateError ? `${mistake.code}: ${mistake.message}` : mistake);

const report = await mandate.verify();
await mandate.close();
rmSync(root, { recursive: true, force: true });
const line = (field: string) => receipts.get("coder")?.find((one) => one.field === field);
const isRight =
  line("tools")?.dropped?.includes("write_file") === true &&
  Number(line("tokens")?.granted) < 40_000 &&
  refusals.length === 3 &&
  coder?.result === "noon\n" &&
  mistake instanceof MandateError &&
  report.ok;
if (!isRight) process.exitCode = 1;
