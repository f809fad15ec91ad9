import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import { bindWorkspace } from "../bind-workspace.ts";
import { enclosePlaces } from "./guards-of.ts";
import { NestedGuards } from "./nested-guards.ts";
import { ProtectedWalk } from "./protected-walk.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
});

afterEach(() => rmSync(`${root}.tick`, { force: true }));

const at = (...names: string[]) => names.map((name) => join(root, name));

function write(...names: string[]): void {
  for (const place of at(...names)) {
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, "");
  }
}

/** Clocks of file systems tick in steps of some milliseconds: what changes next has a later time. */
async function tick(): Promise<void> {
  const stamp = () => {
    writeFileSync(`${root}.tick`, "");
    return statSync(`${root}.tick`).ctimeMs;
  };
  const before = stamp();
  await until("the clock of the file system has ticked", () => stamp() > before);
}

describe("looking for what is obeyed", () => {
  it("finds it at any depth and in any case, and does not look inside of it", async () => {
    write("a/.git/x/.git", "b/c/.Mandate/y", "b/c/d/MANDATE.yaml", "mandate.yaml", "b/git");
    const { found, unseen } = await new ProtectedWalk().walk(root, [root]);
    const expected = at("a/.git", "b/c/.Mandate", "b/c/d/MANDATE.yaml", "mandate.yaml");
    expect([...found].sort()).toEqual(expected);
    expect(unseen).toEqual([]);
  });

  it("finds what came since, also when the times were set back", async () => {
    write("a/b/file");
    // As if all had been at rest when it was read.
    const clock = new ManualClock({ now: Date.now() + 60_000 });
    const walk = new ProtectedWalk(undefined, clock);
    expect((await walk.walk(root, [root])).found).toEqual([]);
    await tick();
    write("a/b/.git/HEAD");
    utimesSync(join(root, "a/b"), 1, 1);
    expect((await walk.walk(root, [root])).found).toEqual(at("a/b/.git"));
    await tick();
    rmSync(join(root, "a/b/.git"), { recursive: true });
    expect((await walk.walk(root, [root])).found).toEqual([]);
  });

  it("skips folders that no one can read, and names the folders that it did not reach", async () => {
    write("a/1/x/f", "a/2/f", "b/f", "c/.git/f");
    const walk = new ProtectedWalk({ folders: 3, milliseconds: 60_000 });
    const { found, unseen } = await walk.walk(root, [root], { left: at("b") });
    expect(found).toEqual(at("c/.git"));
    expect(unseen).toEqual(at("a/1", "a/2"));
    expect(
      (await new ProtectedWalk({ folders: 9, milliseconds: 0 }).walk(root, [root])).unseen,
    ).toEqual([root]);
  });
});

describe("the guards of a workspace that is too large to be looked through", () => {
  it("close folders that could not be read, and say so", async () => {
    write("a/1/f", "a/2/f", "b/f", ".git/f");
    const guards = new NestedGuards({ bounds: { folders: 3, milliseconds: 60_000 } });
    const workspace = bindWorkspace({ root, isolation: "shared", allowWrites: true });
    const { places, remark, leave } = await guards.enter(workspace);
    expect([...places].sort()).toEqual(at(".git", "a/1", "a/2"));
    expect(remark).toMatch(/Read-only for this command.*: "a\/1", "a\/2"\.$/);
    expect(await leave()).toBeUndefined();
    const again = await guards.enter(workspace);
    write("c/f");
    expect(await again.leave()).toMatch(/more than could be looked through.*: "c"\./);
  });
});

describe("enclosing many places", () => {
  it("takes the deepest together until there are few, and never more than the tops", () => {
    const places = at("a/b/1", "a/b/2", "a/b/3", "c");
    expect(enclosePlaces(places, [root], 4)).toHaveLength(4);
    expect([...enclosePlaces(places, [root], 2)].sort()).toEqual(at("a/b", "c"));
    expect(enclosePlaces(places, [root], 1)).toEqual([root]);
    expect(enclosePlaces(places, at("a", "c"), 1)).toEqual(expect.arrayContaining(at("a", "c")));
  });
});
