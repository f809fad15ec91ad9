/**
 * A child that writes does so in a copy of the folder, and git merges what it made when it is done:
 * as uncommitted edits, all of them or none. A person edits the same line meanwhile for the second
 * child: that is a conflict, the person's line stays, and the child's work is kept to be looked at
 * and merged later.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate } from "mandate";
import { type ScriptedReply, scriptedModel } from "mandate/testing";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-example-")));
const project = join(root, "project");
const read = (file: string) => readFileSync(join(project, file), "utf8");
const write = (file: string, text: string) => writeFileSync(join(project, file), text);
const git = (...words: string[]) => {
  const identity = ["-c", "user.name=Example", "-c", "user.email=example@example.com"];
  return execFileSync("git", ["-C", project, ...identity, ...words], { encoding: "utf8" });
};
mkdirSync(project);
git("init", "--quiet");
write("tides.txt", "unknown\n");
write("lamps.txt", "dark\n");
git("add", "--all");
git("commit", "--quiet", "--message=First");

const common = { capabilities: ["subtask" as const], origin: "example" };
const mandate = await createMandate({
  cwd: project,
  environment: { HOME: root, MANDATE_HOME: join(root, "home"), PATH: process.env["PATH"] },
  profiles: [
    {
      ...common,
      name: "lead",
      description: "Has files written",
      prompt: "You lead.",
      tools: ["write_file", "delegate_task"],
    },
    {
      ...common,
      name: "scribe",
      description: "Writes one file",
      prompt: "You write.",
      tools: ["write_file"],
      exit: { evidence: "files" },
    },
  ],
  scripted: scriptedModel(({ caller }): ScriptedReply => {
    if (caller.profile === "lead") {
      if (caller.turn > 1) return { text: "Both have worked." };
      const calls = ["tides.txt", "lamps.txt"].map((task) => ({
        tool: "delegate_task",
        input: { profile: "scribe", task },
      }));
      return { calls };
    }
    const content = `written by the child\n`;
    if (caller.turn === 1)
      return { calls: [{ tool: "write_file", input: { path: caller.task, content } }] };
    // In the middle of its work a person changes the same line.
    if (caller.task === "lamps.txt") write("lamps.txt", "written by a person\n");
    return { text: `${caller.task} is written.` };
  }),
});

const { subDelegations = [] } = await mandate.delegate({
  profile: "lead",
  task: "Have both files written.",
  workspace: project,
});
for (const child of subDelegations) console.log(child.closeReason, "·", child.result);
console.log("status of the repository:", git("status", "--short").trim().split("\n").join(", "));

const kept = subDelegations.find(({ closeReason }) => closeReason === "merge_conflict");
const id = kept?.delegationId ?? "";
const lamps = read("lamps.txt");
const diff = await mandate.diff(id);
console.log(diff.text);
const second = await mandate.merge(id);
console.log("merged by hand while it conflicts:", second.status);
write("lamps.txt", "dark\n");
const third = await mandate.merge(id);
console.log("and after the person gave way:", third.status, "·", read("lamps.txt").trim());

const report = await mandate.verify();
await mandate.close();
const isRight =
  subDelegations.map(({ closeReason }) => closeReason).join() === "integrated,merge_conflict" &&
  read("tides.txt") === "written by the child\n" &&
  lamps === "written by a person\n" &&
  diff.text.includes("+written by the child") &&
  second.status === "conflict" &&
  third.status === "merged" &&
  read("lamps.txt") === "written by the child\n" &&
  report.ok;
rmSync(root, { recursive: true, force: true });
if (!isRight) process.exitCode = 1;
