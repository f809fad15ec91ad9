import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { createMandate, type Mandate, type MandateOptions } from "./mandate.ts";

interface Open {
  readonly mandate: Mandate;
  readonly workspace: string;
  readonly read: () => string;
  readonly write: (text: string) => void;
}

/** A boss whose writer changes a.txt in a copy, while a person changes it in the folder. */
async function open(more: MandateOptions = {}): Promise<Open> {
  const root = testFolder();
  const workspace = join(root, "project");
  initRepository(root, { "project/a.txt": "old\n" });
  const write = (text: string): void => writeFileSync(join(workspace, "a.txt"), text);
  const profile = { description: "A test", capabilities: ["subtask" as const], origin: "test" };
  const mandate = await createMandate({
    environment: { MANDATE_HOME: join(root, "home"), HOME: root, PATH: process.env["PATH"] },
    cwd: workspace,
    profiles: [
      { ...profile, name: "boss", prompt: "You lead.", tools: ["delegate_task", "write_file"] },
      { ...profile, name: "scribe", prompt: "You write.", tools: ["write_file"] },
    ],
    scripted: scriptedModel(({ caller, messages }) => {
      if (messages.at(-1)?.role !== "user") {
        if (caller.profile === "scribe") write("the person's\n");
        return { text: "Done." };
      }
      if (caller.profile === "scribe") {
        const input = { path: "a.txt", content: "the scribe's\n" };
        return { calls: [{ tool: "write_file", input }] };
      }
      const input = { profile: "scribe", task: "Write a.txt" };
      return { calls: [{ tool: "delegate_task", input }] };
    }),
    ...more,
  });
  onTestFinished(async () => {
    const report = await mandate.verify();
    await mandate.close();
    expect(report.violations).toEqual([]);
  });
  return { mandate, workspace, write, read: () => readFileSync(join(workspace, "a.txt"), "utf8") };
}

async function scribeOf(mandate: Mandate, workspace: string): Promise<string> {
  const { subDelegations } = await mandate.delegate({ profile: "boss", task: "Lead", workspace });
  const [scribe] = subDelegations ?? [];
  expect(scribe).toMatchObject({ status: "failed", closeReason: "merge_conflict" });
  return scribe?.delegationId ?? "";
}

test("work that conflicted is shown, refused while it conflicts, and merged when it does not", async () => {
  const { mandate, read, workspace, write } = await open();
  const id = await scribeOf(mandate, workspace);
  expect(read()).toBe("the person's\n");
  const diff = await mandate.diff(id);
  expect(diff).toMatchObject({ status: "failed", source: "copy", truncated: false });
  expect(diff.text).toContain("-old\n+the scribe's\n");
  expect(await mandate.merge(id)).toMatchObject({ status: "conflict", files: ["a.txt"] });
  expect(await mandate.discard(id)).toMatchObject({ status: "kept", files: ["a.txt"] });
  write("old\n");
  expect(await mandate.merge(id)).toMatchObject({ status: "merged", copy: "removed" });
  expect(read()).toBe("the scribe's\n");
  // The log has what was to be merged then, also when the copy is gone.
  expect(await mandate.diff(id)).toMatchObject({
    source: "log",
    text: diff.text,
    files: diff.files,
  });
  await expect(mandate.merge(id)).rejects.toMatchObject({ code: "no-kept-work", reason: "merged" });
});

test("discarded work is gone, and the person's folder is as it was", async () => {
  const { mandate, read, workspace } = await open();
  const id = await scribeOf(mandate, workspace);
  expect(await mandate.discard(id, { deleteChanges: true })).toEqual({
    ...{ status: "discarded", delegationId: id, files: ["a.txt"] },
  });
  expect(read()).toBe("the person's\n");
  await expect(mandate.discard(id)).rejects.toMatchObject({ reason: "discarded" });
});

test("a program that acts for somebody without the right to decide is refused", async () => {
  const { mandate, read, workspace } = await open({ principal: { id: "eve", role: "viewer" } });
  const id = await scribeOf(mandate, workspace);
  const refused = { code: "refused-by-policy" };
  await expect(mandate.merge(id)).rejects.toMatchObject(refused);
  await expect(mandate.discard(id, { deleteChanges: true })).rejects.toMatchObject(refused);
  expect(await mandate.diff(id)).toMatchObject({ source: "copy" });
  expect(read()).toBe("the person's\n");
});
