import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Profile } from "../agents/profiles/profile.ts";
import {
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../testing/engine-fixture.ts";

const secret = "canary: nobody reads or changes this";

/** A workspace with ways out of it, and what lies beside it. */
function layTraps({ workspace, home }: TestEngine) {
  const outside = join(dirname(workspace), "outside");
  const twin = `${workspace}-evil`;
  for (const folder of [outside, twin, join(workspace, "inside"), join(workspace, "owned")]) {
    mkdirSync(folder, { recursive: true });
  }
  const canaries = [outside, twin, home].map((folder) => join(folder, "canary.txt"));
  for (const file of canaries) writeFileSync(file, secret);
  writeFileSync(join(workspace, "inside", "fine.txt"), "fine");
  symlinkSync(outside, join(workspace, "folder-link"));
  symlinkSync(join(outside, "canary.txt"), join(workspace, "file-link"));
  symlinkSync(home, join(workspace, "home-link"));
  symlinkSync(join(outside, "not-there-yet"), join(workspace, "dangling"));
  symlinkSync("loop", join(workspace, "loop"));
  linkSync(join(outside, "canary.txt"), join(workspace, "hard-link"));
  return { canaries, outside, twin, home, workspace };
}

type Traps = ReturnType<typeof layTraps>;

const escapes: readonly ((traps: Traps) => string)[] = [
  () => "../outside/canary.txt",
  () => "inside/../../outside/canary.txt",
  () => "./../outside/./canary.txt",
  () => "..",
  () => "../workspace-evil/canary.txt",
  () => "/etc/passwd",
  () => "/",
  () => "/proc/self/environ",
  () => "folder-link/canary.txt",
  () => "folder-link",
  () => "file-link",
  () => "home-link/canary.txt",
  () => "home-link/mandate.db",
  () => "dangling",
  () => "loop",
  () => "inside/fine.txt\0.png",
  () => "a/".repeat(3000),
  ({ outside }) => join(outside, "canary.txt"),
  ({ twin }) => join(twin, "canary.txt"),
  ({ home }) => join(home, "mandate.db"),
  ({ home }) => join(home, "canary.txt"),
  ({ workspace }) => `${workspace}/../outside/canary.txt`,
  ({ workspace }) => `${workspace}-evil/canary.txt`,
];

/** What a call of each tool says besides the path. */
const inputs: Readonly<Record<string, object>> = {
  read_file: {},
  write_file: { content: "gone" },
  edit_file: { old_text: "canary", new_text: "gone" },
  list_files: { recursive: true },
  glob: { pattern: "**" },
  grep: { pattern: "canary" },
  document_query: {},
};

async function attempt(tool: string, paths: typeof escapes, profile: Partial<Profile> = {}) {
  const traps: Traps[] = [];
  const { seen, model } = recording(({ caller }) => {
    if (caller.turn > 1 || traps[0] === undefined) return "done";
    const [only] = traps;
    return { calls: paths.map((path) => ({ tool, input: { ...inputs[tool], path: path(only) } })) };
  });
  await using mandate = await openEngine({
    profiles: [testProfile("hostile", profile)],
    model,
    limits: { maxRetries: 0 },
  });
  const laid = layTraps(mandate);
  traps.push(laid);
  const { workspace } = mandate;
  const { events, result } = await mandate.run({ task: "go", profile: "hostile", workspace });
  for (const file of laid.canaries) expect(readFileSync(file, "utf8")).toBe(secret);
  expect(readdirSync(laid.outside)).toEqual(["canary.txt"]);
  expect(readdirSync(laid.twin)).toEqual(["canary.txt"]);
  const { messages = [] } = seen[1] ?? {};
  expect(JSON.stringify([messages, events])).not.toContain("nobody reads");
  return { events, result, denied: ofType(events, "agent.tool_denied") };
}

describe.each(Object.keys(inputs))("%s", (tool) => {
  it("never leaves the workspace: each way out is denied before anything begins", async () => {
    const { denied, events, result } = await attempt(tool, escapes);
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(denied).toHaveLength(escapes.length);
    for (const { payload } of denied) expect(payload.rule).toMatch(/^(path_|invalid_input)/);
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
  });

  it("has nothing to look at without a workspace", async () => {
    const { model } = recording(({ caller }) =>
      caller.turn === 1 ? { calls: [{ tool, input: { ...inputs[tool], path: "a" } }] } : "done",
    );
    await using mandate = await openEngine({ profiles: [testProfile("hostile")], model });
    const { events } = await mandate.run({ task: "go", profile: "hostile" });
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(ofType(events, "agent.tool_denied")).toHaveLength(1);
  });
});

describe("a hard link", () => {
  it.each(["write_file", "edit_file"])("is not written through by %s", async (tool) => {
    const { denied } = await attempt(tool, [() => "hard-link"]);
    expect(denied.map(({ payload }) => payload.rule)).toEqual(["path_hard_link"]);
  });
});

describe("files that steer git or the product", () => {
  const steering = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".GIT/config",
    "inside/.git/config",
    ".mandate/agents/me.md",
    "mandate.yaml",
    "profiles/me.md",
  ];

  it.each(["write_file", "edit_file"])("are not written by %s, there or not", async (tool) => {
    const { denied, events } = await attempt(
      tool,
      steering.map((path) => () => path),
    );
    expect(denied.map(({ payload }) => payload.rule)).toEqual(steering.map(() => "path_protected"));
    expect(ofType(events, "agent.tool_started")).toEqual([]);
  });
});

describe("write roots", () => {
  it("are the only folders that may be written, and names that only begin alike are not", async () => {
    const paths = ["a.txt", "inside/a.txt", "owned-not/a.txt", "owned/../a.txt", "owned"];
    const profile = { workspace: { writeRoots: ["owned"] } };
    const { denied, events } = await attempt(
      "write_file",
      [...paths.map((path) => () => path), () => "owned/deep/a.txt"],
      profile,
    );
    const rules = denied.map(({ payload }) => payload.rule);
    expect(rules.slice(0, 4)).toEqual(Array(4).fill("path_outside_write_roots"));
    const completed = ofType(events, "agent.tool_completed");
    expect(completed.map(({ payload }) => payload.files?.[0]?.path)).toEqual(["owned/deep/a.txt"]);
  });
});
