/**
 * An agent that was written for another program, used under a contract of ours: read where it lies,
 * trusted as it is, registered under a handle, and delegated to. Commands answer in fixed
 * words; what came with a project does nothing before somebody has looked at it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate } from "mandate";
import { scriptedModel } from "mandate/testing";

const project = mkdtempSync(join(tmpdir(), "mandate-example-"));
mkdirSync(join(project, ".claude/agents"), { recursive: true });
writeFileSync(
  join(project, ".claude/agents/changelog-writer.md"),
  `---
name: changelog-writer
description: Writes changelogs. Use it when: a release is near
tools: Read, Grep
---
You write changelogs that users understand.
`,
);

const mandate = await createMandate({
  cwd: project,
  environment: { HOME: project, MANDATE_HOME: join(project, ".home") },
  database: ":memory:",
  scripted: scriptedModel(({ caller, tools }) => {
    return `${caller.profile} may call ${tools.map(({ name }) => name).join(" and ")}`;
  }),
});
const operator = { id: "example", role: "operator" } as const;

const before = mandate.describeProfile("changelog-writer");
console.log("usable before:", before?.usable, "·", before?.problem);
for (const { hash, file, name } of mandate.waiting()) {
  await mandate.control.trust(hash, { file, name }, operator);
}
const { reply } = await mandate.command(
  "/agents register @changelog | changelog-writer | Writes changelogs.",
  operator,
);
console.log(reply);
const { result } = await mandate.delegate({ profile: "@changelog", task: "What is new in 1.1?" });
console.log(result);

const report = await mandate.verify();
await mandate.close();
rmSync(project, { recursive: true, force: true });
const isRight =
  before?.usable === false &&
  reply === "Registered agent @changelog -> changelog-writer." &&
  result === "changelog-writer may call read_file and grep" &&
  report.ok;
if (!isRight) process.exitCode = 1;
