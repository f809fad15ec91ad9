import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CollectedChanges, collectChanges } from "../copies/collect-changes.ts";
import { createWorkingCopy } from "../copies/create-working-copy.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import {
  type Contents,
  fingerprint,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../repository.test-support.ts";
import { integrate } from "./integrate.ts";
import { recoverIntegration } from "./recover-integration.ts";

const old = {
  "a.txt": "a\n",
  "b.txt": "b\n",
  "gone/x.txt": "x\n",
  "turns/into.txt": "t\n",
  "mine.txt": "uncommitted\n",
};
const left: Contents = {
  "a.txt": "A\n",
  "b.txt": { link: "a.txt" },
  "gone/x.txt": null,
  "new/deep/y.txt": "y\n",
  turns: "a file\n",
};

const fresh = {
  "a.txt": "A\n",
  "b.txt": "-> a.txt",
  "mine.txt": "uncommitted\n",
  "new/deep/y.txt": "y\n",
  turns: "a file\n",
};

/** The person has something of their own in it that is not committed. */
function dirtyRepository(): string {
  const { "mine.txt": mine, ...committed } = old;
  const folder = makeRepository(committed);
  writeFiles(folder, { "mine.txt": mine });
  return folder;
}

interface Scene {
  readonly source: string;
  readonly home: string;
  readonly copy: WorkingCopy;
  readonly changes: CollectedChanges;
}

async function setScene(make: () => string = dirtyRepository): Promise<Scene> {
  const source = make();
  const home = makeFolder();
  const copy = await createWorkingCopy({ source, id: "child", home });
  writeFiles(copy.folder, left);
  const changes = await collectChanges(copy);
  writeFileSync(join(home, "changes.json"), JSON.stringify(changes));
  return { source, home, copy, changes };
}

/** Runs the same thing in a process that is killed after its n-th step; false: it came to its end. */
function dieAfter({ home }: Scene, steps: number, what = "integrate"): boolean {
  const script = join(import.meta.dirname, "integrate-and-die.test-support.ts");
  const args = [script, what, home, "child", join(home, "changes.json"), String(steps)];
  const { signal, status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (signal === "SIGKILL") return true;
  expect(status, stderr).toBe(0);
  return false;
}

function startOver({ source, home }: Scene): void {
  for (const path of Object.keys(treeOf(source))) rmSync(join(source, path), { recursive: true });
  for (const name of ["gone", "new", "turns"]) {
    rmSync(join(source, name), { recursive: true, force: true });
  }
  writeFiles(source, old);
  rmSync(join(home, "copies/child/outcome.json"), { force: true });
}

function expectNothingLeft({ source, home }: Scene): void {
  expect(readdirSync(join(home, "integrations"))).toEqual([]);
  expect(existsSync(join(home, "copies/child/staging"))).toBe(false);
  expect(readdirSync(source).filter((name) => name.startsWith(".mandate"))).toEqual([]);
}

test("killed after any step, the files are the old or the new ones once recovered, and asking again finishes", {
  timeout: 240_000,
}, async () => {
  const scene = await setScene();
  const seen = new Set<string>();
  let steps = 1;
  for (; dieAfter(scene, steps); steps++) {
    const [recovered] = await recoverIntegration(scene.home);
    const isNew = recovered?.result.status === "done" || !existsSync(join(scene.source, "gone"));
    seen.add(isNew ? "new" : "old");
    expect(treeOf(scene.source), `killed after step ${steps}`).toEqual(isNew ? fresh : old);
    expectNothingLeft(scene);
    const before = fingerprint(scene.home);
    expect(await recoverIntegration(scene.home)).toEqual([]);
    expect(fingerprint(scene.home)).toBe(before);
    const result = await integrate({ copy: scene.copy, changes: scene.changes });
    expect(result).toMatchObject({ status: "merged", child: scene.changes.commit });
    expect(treeOf(scene.source)).toEqual(fresh);
    startOver(scene);
  }
  expect(steps).toBeGreaterThan(12);
  expect([...seen].sort()).toEqual(["new", "old"]);
});

test("killed again while it recovers, it recovers from that", { timeout: 240_000 }, async () => {
  const scene = await setScene(() => {
    const folder = makeFolder();
    writeFiles(folder, old);
    return folder;
  });
  for (const first of [4, 8]) {
    for (let second = 1; second < 20; second += 4) {
      expect(dieAfter(scene, first)).toBe(true);
      // In its way, so that everything has to be taken back.
      if (second % 8 === 1) writeFiles(scene.source, { "new/deep/y.txt": "the person's\n" });
      const wasKilled = dieAfter(scene, second, "recover");
      await recoverIntegration(scene.home);
      const tree = treeOf(scene.source);
      const isNew = !("gone/x.txt" in tree);
      const own = second % 8 === 1 ? { "new/deep/y.txt": "the person's\n" } : {};
      expect(tree).toEqual({ ...(isNew ? fresh : old), ...own });
      expectNothingLeft(scene);
      startOver(scene);
      if (!wasKilled) break;
    }
  }
});

test("what the person edits after the crash survives the recovery", {
  timeout: 240_000,
}, async () => {
  const scene = await setScene();
  const edits: Contents[] = [{ "a.txt": "edited\n" }, { "gone/x.txt": "back\n" }, { turns: null }];
  for (const steps of [3, 6, 10]) {
    for (const edit of edits) {
      if (!dieAfter(scene, steps)) continue;
      const [path = ""] = Object.keys(edit);
      if (path === "turns" && !existsSync(join(scene.source, "turns/into.txt"))) {
        startOver(scene);
        await recoverIntegration(scene.home);
        startOver(scene);
        continue;
      }
      writeFiles(scene.source, edit);
      await recoverIntegration(scene.home);
      const { [path]: kept, ...rest } = treeOf(scene.source);
      const { [path]: _, ...before } = old as Record<string, string>;
      const { [path]: __, ...after } = fresh as Record<string, string>;
      if (path === "turns") delete before["turns/into.txt"];
      else expect(kept).toBe(edit[path]);
      const isNew = "new/deep/y.txt" in rest;
      expect(rest, `killed after ${steps}, edited ${path}`).toEqual(isNew ? after : before);
      expectNothingLeft(scene);
      startOver(scene);
    }
  }
});

test("killed at moments of no one's choosing, the files are the old or the new ones", {
  timeout: 240_000,
}, async () => {
  const scene = await setScene();
  const script = join(import.meta.dirname, "integrate-and-die.test-support.ts");
  for (let delay = 40; delay < 800; delay += 110) {
    const args = [script, "integrate", scene.home, "child", join(scene.home, "changes.json")];
    spawnSync(process.execPath, args, { timeout: delay, killSignal: "SIGKILL" });
    await recoverIntegration(scene.home);
    const tree = treeOf(scene.source);
    expect(tree).toEqual("gone/x.txt" in tree ? old : fresh);
    const result = await integrate({ copy: scene.copy, changes: scene.changes });
    expect(result).toMatchObject({ status: "merged" });
    expect(treeOf(scene.source)).toEqual(fresh);
    startOver(scene);
  }
});

test("a folder that the person has removed is not restored", async () => {
  const scene = await setScene();
  expect(dieAfter(scene, 5)).toBe(true);
  rmSync(scene.source, { recursive: true });
  const [recovered] = await recoverIntegration(scene.home);
  expect(recovered?.result.status).toBe("reverted");
  expect(existsSync(scene.source)).toBe(false);
  expect(await recoverIntegration(scene.home)).toEqual([]);
});

test("the next copy is made of a whole state, also right after a crash", async () => {
  const scene = await setScene();
  expect(dieAfter(scene, 6)).toBe(true);
  expect(treeOf(scene.source)).not.toEqual(old);
  const next = await createWorkingCopy({ source: scene.source, id: "next", home: scene.home });
  expect(treeOf(next.folder)).toEqual(fresh);
});

test("a journal that cannot be read stops its own place alone, and says what to do", async () => {
  const scene = await setScene();
  const { home } = scene;
  const source = makeRepository();
  const hurt = await createWorkingCopy({ source, id: "a-hurt", home });
  writeFiles(hurt.folder, { "a.txt": "changed\n" });
  const changes = await collectChanges(hurt);
  expect(dieAfter(scene, 6)).toBe(true);
  const journal = join(home, "integrations/a-hurt.json");
  writeFileSync(journal, '{"version":1,"id":"a-hu');
  // It comes first, and the other one is recovered all the same.
  await expect(recoverIntegration(home)).rejects.toThrow(journal);
  expect(treeOf(scene.source)).toEqual(fresh);
  expect(readdirSync(join(home, "integrations"))).toEqual(["a-hurt.json"]);
  await createWorkingCopy({ source: scene.source, id: "next", home });
  // Nothing goes into its own place, or out of it, that somebody has not looked at.
  const before = fingerprint(source);
  const refused = { refusal: { code: "journal-damaged" } };
  await expect(integrate({ copy: hurt, changes })).rejects.toMatchObject(refused);
  await expect(createWorkingCopy({ source, id: "more", home })).rejects.toThrow(
    /"[^"]*a-hurt\/staging\/old".* remove .* try again/,
  );
  expect(fingerprint(source)).toBe(before);
  rmSync(journal);
  expect(await integrate({ copy: hurt, changes })).toMatchObject({ status: "merged" });
});

test("a merge elsewhere that comes to its end while journals are read is no obstacle", async () => {
  const scene = await setScene();
  writeFiles(scene.home, { "integrations/notes of mine.json": "{" });
  // Listed, and gone when it is to be read.
  symlinkSync("nowhere", join(scene.home, "integrations/ended.json"));
  expect(await recoverIntegration(scene.home)).toEqual([]);
  expect(await integrate(scene)).toMatchObject({ status: "merged" });
});

test("what was being removed when the crash came is removed by the recovery", async () => {
  const scene = await setScene();
  expect(dieAfter(scene, 1)).toBe(true);
  const own = join(scene.home, "copies/child");
  writeFiles(own, { ".removing-staging-0123456789ab.1.2.3.0/old/0": "a\n" });
  await recoverIntegration(scene.home);
  expect(readdirSync(own).filter((name) => name.includes("staging"))).toEqual([]);
});
