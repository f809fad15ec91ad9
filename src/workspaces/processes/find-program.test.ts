import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { createRuntime } from "../../runtime.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { installationPaths, noteAgentFolder, noteWorkspace } from "./agent-folders.ts";
import { findProgram, ownNode } from "./find-program.ts";
import { createPrivateFolder } from "./private-folder.ts";
import { scrubEnvironment } from "./program-environment.ts";
import { runToEnd } from "./start-program.ts";

let base: string;

beforeEach(() => {
  base = testFolder();
});

function make(path: string): string {
  const file = join(base, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "#!/bin/sh\necho ran\n");
  chmodSync(file, 0o755);
  return file;
}

const find = (name: string, ...folders: string[]) => findProgram(name, folders.join(":"));

describe("a helper program", () => {
  it("is taken by its real path, and called by the name that was found", () => {
    const real = make("opt/tool-1.2");
    mkdirSync(join(base, "bin"));
    symlinkSync(real, join(base, "bin/tool"));
    const finding = find("tool", join(base, "bin"));
    expect(finding).toMatchObject({
      isFound: true,
      program: { file: real, calledAs: join(base, "bin/tool") },
    });
  });

  it("is found by a service that starts at the root of the file system", async () => {
    const tool = make("tool");
    const environment = { HOME: base, MANDATE_HOME: join(base, "home") };
    const runtime = await createRuntime({ consent: "named", cwd: "/", environment });
    await runtime.close();
    expect(find("tool", base)).toMatchObject({ program: { file: tool } });
  });

  it("is still found where a workspace was requested and refused", async () => {
    const tool = make("tool");
    const environment = { HOME: base, MANDATE_HOME: join(base, "home") };
    const scripted = scriptedModel(() => "done");
    const runtime = await createRuntime({ consent: "given", cwd: "/", environment, scripted });
    const asked = runtime.engine.startRun({ task: "go", profile: "general", workspace: base });
    await expect(asked).rejects.toMatchObject({ code: "refused-by-policy" });
    await runtime.close();
    expect(find("tool", base)).toMatchObject({ program: { file: tool } });
  });

  it("is looked up again when its folder becomes a workspace", () => {
    make("first/tool");
    const second = make("second/tool");
    const path = [join(base, "first"), join(base, "second")];
    const before = find("tool", ...path);
    noteWorkspace(join(base, "first"));
    expect(find("tool", ...path)).toMatchObject({ program: { file: second } });
    if (!before.isFound) throw new Error("not found");
    const start = { program: before.program, args: [], environment: {} };
    expect(() => runToEnd(start, { timeoutMs: 5000 })).toThrow(/which is inside the workspace/);
  });

  it("is refused with its place where it is in a workspace alone", () => {
    const file = make("work/bin/only-here");
    noteWorkspace(join(base, "work"));
    expect(find("only-here", join(base, "work/bin"))).toEqual({
      isFound: false,
      refused: `"${file}", which is inside the workspace "${join(base, "work")}"`,
    });
  });

  it("is not taken through a link that an agent could have made", () => {
    make("outside/tool");
    mkdirSync(join(base, "work"));
    symlinkSync(join(base, "outside/tool"), join(base, "work/tool"));
    mkdirSync(join(base, "bin"));
    symlinkSync(join(base, "work/tool"), join(base, "bin/tool"));
    noteWorkspace(join(base, "work"));
    expect(find("tool", join(base, "bin")).isFound).toBe(false);
  });

  it("is not taken from the programs of a project around the workspace", () => {
    make("project/node_modules/.bin/tool");
    make("project/.venv/bin/tool");
    writeFileSync(join(base, "project/.venv/pyvenv.cfg"), "");
    mkdirSync(join(base, "project/packages/one"), { recursive: true });
    const path = ["project/node_modules/.bin", "project/.venv/bin"].map((each) => join(base, each));
    expect(find("tool", ...path).isFound).toBe(true);
    noteWorkspace(join(base, "project/packages/one"));
    expect(find("tool", ...path).isFound).toBe(false);
  });

  it("is not taken from a folder that every user can write", () => {
    make("all/tool");
    chmodSync(join(base, "all"), 0o1777);
    expect(find("tool", join(base, "all")).isFound).toBe(false);
  });

  it("is our own Node wherever that lies", () => {
    mkdirSync(join(base, "work"));
    symlinkSync(process.execPath, join(base, "work/node"));
    noteWorkspace(join(base, "work"));
    expect(find("node", join(base, "work"))).toMatchObject({
      program: { file: realpathSync(ownNode().file) },
    });
  });
});

describe("the installation", () => {
  it("is the Node that runs, the code, and every folder in which that looks for packages", () => {
    const paths = installationPaths();
    const code = dirname(dirname(import.meta.dirname));
    expect(paths).toContain(realpathSync(process.execPath));
    expect(paths).toContain(code);
    expect(paths).toContain(join(dirname(code), "node_modules"));
  });

  it("is guarded from every agent", async () => {
    const environment = { MANDATE_HOME: join(base, "home"), XDG_CONFIG_HOME: join(base, "config") };
    const runtime = await createRuntime({
      ...{ database: ":memory:", cwd: base, environment, consent: "given" },
    });
    expect(runtime.guarded).toEqual(expect.arrayContaining([...installationPaths()]));
    await runtime.close();
  });
});

describe("a private folder", () => {
  it("is empty, closed to others and gone afterwards", () => {
    const folder = createPrivateFolder(join(base, "servers"));
    expect(readdirSync(folder.path)).toEqual([]);
    expect(statSync(folder.path).mode & 0o777).toBe(0o700);
    expect(dirname(folder.path)).toBe(join(base, "servers"));
    folder.remove();
    expect(existsSync(folder.path)).toBe(false);
  });

  it("is elsewhere where an agent can write around it", () => {
    noteAgentFolder(join(base, "work"));
    const folder = createPrivateFolder(join(base, "work/.home/servers"));
    expect(folder.path.startsWith(join(base, "work"))).toBe(false);
    folder.remove();
  });
});

describe("the environment of a program that the person chose", () => {
  it("points to no folder that an agent can write", () => {
    mkdirSync(join(base, "work/bin"), { recursive: true });
    mkdirSync(join(base, "tools"));
    noteWorkspace(join(base, "work"));
    const work = join(base, "work");
    const kept = scrubEnvironment({
      PATH: `.:${work}/bin:${base}/tools::bin`,
      HOME: work,
      TMPDIR: `${work}/tmp`,
      NODE_OPTIONS: "-r x",
      PYTHONPATH: work,
    });
    expect(kept["PATH"]).toBe(join(base, "tools"));
    expect(kept["HOME"]).not.toBe(work);
    expect(kept).not.toHaveProperty("TMPDIR");
    expect(Object.keys(kept).sort()).toEqual(
      ["HOME", "PATH", "PERL_USE_UNSAFE_INC", "PYTHONSAFEPATH"].sort(),
    );
  });
});
