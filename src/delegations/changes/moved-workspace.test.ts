import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openEngine } from "../../testing/engine-fixture.ts";

describe("a workspace that is replaced after somebody allowed it", () => {
  it("is not worked in: not by a run, not by a session, not by who goes on", async () => {
    await using fixture = await openEngine({ model: () => ({ text: "done" }) });
    const { engine } = fixture;
    const folder = join(fixture.workspace, "part");
    const elsewhere = `${fixture.workspace}-elsewhere`;
    mkdirSync(folder);
    mkdirSync(elsewhere);
    const request = { task: "x", workspace: folder, isRealWorkspace: true };
    const first = await engine.startRun(request);
    await first.result;
    renameSync(folder, `${folder}-kept`);
    symlinkSync(elsewhere, folder);
    const refused = { code: "refused-by-policy" };
    await expect(engine.startRun(request)).rejects.toMatchObject(refused);
    const session = { client: "other", workspace: folder, isRealWorkspace: true };
    await expect(engine.openSession(session)).rejects.toMatchObject(refused);
    // What is stored is a real path, whoever asks.
    const further = engine.continueSession(first.delegationId, "and more");
    await expect(further).rejects.toMatchObject(refused);
    expect(await fixture.store.listRuns({ limit: 10 })).toHaveLength(1);
  });

  it("is followed where a person names a link: it is resolved once, and that is the place", async () => {
    await using fixture = await openEngine({ model: () => ({ text: "done" }) });
    const folder = join(fixture.workspace, "part");
    mkdirSync(folder);
    symlinkSync(folder, join(fixture.workspace, "link"));
    const { result, runId } = await fixture.engine.startRun({
      task: "x",
      workspace: join(fixture.workspace, "link"),
    });
    await result;
    expect((await fixture.store.readRun(runId))?.workspace).toBe(folder);
  });
});
