import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, testProfile } from "../../testing/engine-fixture.ts";
import { type Fleet, type FleetOptions, openFleet } from "../../testing/fleet.test-support.ts";
import { git, initRepository } from "../../testing/git-workspace.test-support.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("lead", { capabilities: ["primary", "subtask"], tools: "*" }),
  testProfile("writer", { tools: "*" }),
  testProfile("reader", { tools: ["read_file", "list_files"] }),
];

const call = (tool: string, input: object) => ({ tool, input });
const delegate = (task: string, more: object = {}) =>
  call("delegate_task", { task, profile: "writer", ...more });
const write = (path: string, content: string) => call("write_file", { path, content });

const config = { engine: { ...defaultConfig.engine, workspaces: "bundle" } } as const;

/** The first worker has the person's folder; the others are machines that share nothing with it. */
function openMachines(count: number, options: FleetOptions): Promise<Fleet> {
  let next = 0;
  const choose = ({ depth }: { depth: number }) => (depth === 0 ? 0 : 1 + (next++ % (count - 1)));
  return openFleet(count, { profiles, config, choose, atHome: 1, ...options });
}

const placesOf = (events: readonly StoredEvent[]): string[] =>
  ofType(events, "agent.subagent_started").flatMap(({ payload }) => payload.worktree_path ?? []);

const closedAs = (events: readonly StoredEvent[]): string[] =>
  ofType(events, "agent.subagent_closed").map(({ payload }) => payload.close_reason);

const failures = (events: readonly StoredEvent[]): string[] =>
  ofType(events, "agent.subagent_failed").map(({ payload }) => payload.error);

const file = (fleet: Fleet, path: string): string =>
  readFileSync(join(fleet.client.workspace, path), "utf8");

const copiesIn = (home: string): string[] =>
  existsSync(join(home, "copies")) ? readdirSync(join(home, "copies")) : [];

describe("a child whose worker has not its caller's folders", () => {
  it("works in a copy made from a bundle, and what it made is merged at home, in order", async () => {
    const model: Script = ({ caller, messages }) => {
      if (caller.depth === 0) {
        const calls = ["one", "two", "three"].map((name) => delegate(name));
        return caller.turn === 1 ? { calls } : "merged";
      }
      if (caller.turn === 1) return { calls: [call("read_file", { path: "readme.txt" })] };
      if (caller.turn === 2) {
        const isThere = JSON.stringify(messages.at(-1)).includes("uncommitted");
        return { calls: [write(`${caller.task}.txt`, `${isThere}`), write("log.txt", "same\n")] };
      }
      return `${caller.task} written`;
    };
    await using fleet = await openMachines(3, { model });
    const { workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    writeFileSync(join(workspace, "readme.txt"), "uncommitted\n");
    const { result, events } = await fleet.client.run({ task: "go", profile: "lead", workspace });
    expect(result.status).toBe("completed");
    expect(failures(events)).toEqual([]);
    for (const name of ["one", "two", "three"]) expect(file(fleet, `${name}.txt`)).toBe("true");
    expect(file(fleet, "log.txt")).toBe("same\n");
    const [first, ...others] = fleet.workers.map(({ home }) => home);
    const places = placesOf(events);
    expect(places.length).toBe(3);
    for (const place of places) {
      expect(place.startsWith(first ?? "")).toBe(false);
      expect(others.some((home) => place.startsWith(home))).toBe(true);
    }
    const merged = ofType(events, "agent.worktree_merged").map(({ sub_agent_id: id }) => id);
    const created = ofType(events, "agent.subagent_created")
      .slice(1)
      .sort((one, other) => one.payload.step_idx - other.payload.step_idx);
    expect(merged).toEqual(created.map(({ sub_agent_id: id }) => id));
    expect(created.every(({ payload }) => payload.bundle !== undefined)).toBe(true);
    // What they left there goes when they have ended.
    await until("their copies are gone", () => others.every((home) => copiesIn(home).length === 0));
    expect(git(workspace, "log", "--format=%s")).toBe("First");
  });

  it("sees nothing of its caller's machine, and needs nothing of it", async () => {
    let hidden = "";
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("a")] } : "done";
      if (caller.turn === 1) {
        renameSync(hidden, `${hidden}-hidden`);
        return { calls: [call("list_files", { path: "." })] };
      }
      if (caller.turn === 2) return { calls: [write("a.txt", "made\n")] };
      renameSync(`${hidden}-hidden`, hidden);
      return "done";
    };
    await using fleet = await openMachines(2, { model });
    const { home, workspace } = fleet.client;
    hidden = join(home, "worktrees");
    initRepository(workspace, { "readme.txt": "here\n" });
    const { events } = await fleet.client.run({ task: "go", profile: "lead", workspace });
    expect(failures(events)).toEqual([]);
    expect(file(fleet, "a.txt")).toBe("made\n");
  });

  it("conflicts with its siblings as it would have at home", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) {
        return caller.turn === 1 ? { calls: [delegate("one"), delegate("two")] } : "done";
      }
      return caller.turn === 1
        ? { calls: [write("readme.txt", `by ${caller.task}\n`)] }
        : "written";
    };
    await using fleet = await openMachines(3, { model });
    const { home, workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    const { events } = await fleet.client.run({ task: "go", profile: "lead", workspace });
    expect(closedAs(events).slice(0, 2)).toEqual(["integrated", "merge_conflict"]);
    expect(file(fleet, "readme.txt")).toBe("by one\n");
    // What was not merged is kept where people look for it: on the caller's machine.
    const kept = ofType(events, "agent.worktree_merged").find(
      ({ payload }) => payload.strategy === "conflict",
    );
    await until("it is kept", () => copiesIn(home).join() === kept?.sub_agent_id);
    const work = join(home, "worktrees", kept?.sub_agent_id ?? "", "readme.txt");
    expect(readFileSync(work, "utf8")).toBe("by two\n");
  });

  it("is held to what it owns", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth > 0) {
        return caller.turn === 1 ? { calls: [write("other.txt", "x\n")] } : "written";
      }
      const step = { id: "one", title: "One", description: "one", profile: "writer" };
      const steps = [{ ...step, owns: ["src/**"] }];
      return caller.turn === 1 ? { calls: [call("submit_plan", { goal: "g", steps })] } : "done";
    };
    const planner = testProfile("lead", { capabilities: ["orchestrator", "primary"], tools: "*" });
    await using fleet = await openMachines(2, { model, profiles: [planner, ...profiles.slice(1)] });
    const { workspace } = fleet.client;
    initRepository(workspace, { "src/a.txt": "a\n" });
    const { events } = await fleet.client.run({ task: "go", profile: "lead", workspace });
    expect(ofType(events, "agent.tool_denied")[0]?.payload.rule).toBe("path_not_owned");
    expect(existsSync(join(workspace, "other.txt"))).toBe(false);
  });

  it("may write there where its contract says, and nowhere else", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) {
        return caller.turn === 1 ? { calls: [delegate("one", { profile: "narrow" })] } : "done";
      }
      if (caller.turn > 1) return "written";
      return { calls: [write("other.txt", "x\n"), write("src/b.txt", "b\n")] };
    };
    const own = [
      ...profiles,
      testProfile("narrow", { tools: ["write_file"], workspace: { writeRoots: ["src"] } }),
    ];
    await using fleet = await openMachines(2, { model, profiles: own });
    const { workspace } = fleet.client;
    initRepository(workspace, { "src/a.txt": "a\n" });
    const { events } = await fleet.client.run({ task: "go", profile: "lead", workspace });
    const denied = ofType(events, "agent.tool_denied");
    expect(denied.map(({ payload }) => payload.rule)).toEqual(["path_outside_write_roots"]);
    expect(file(fleet, "src/b.txt")).toBe("b\n");
    expect(existsSync(join(workspace, "other.txt"))).toBe(false);
  });

  it("has children of its own elsewhere again, and readers beside itself", async () => {
    const model: Script = ({ caller, messages }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("outer")] } : "done";
      if (caller.task === "read") {
        if (caller.turn === 1) return { calls: [call("read_file", { path: "outer.txt" })] };
        return JSON.stringify(messages.at(-1)).includes("before") ? "seen" : "not seen";
      }
      if (caller.task === "inner") {
        return caller.turn === 1 ? { calls: [write("inner.txt", "inner\n")] } : "inner done";
      }
      switch (caller.turn) {
        case 1:
          return { calls: [write("outer.txt", "before\n")] };
        case 2:
          return { calls: [delegate("inner"), delegate("read", { profile: "reader" })] };
        case 3:
          return { calls: [call("read_file", { path: "inner.txt" })] };
        default:
          return `outer has ${JSON.stringify(messages)
            .match(/inner\\n|not seen|"seen/g)
            ?.join()}`;
      }
    };
    const choose = ({ depth }: { depth: number }) => depth;
    await using fleet = await openMachines(3, { model, choose });
    const { workspace } = fleet.client;
    initRepository(workspace, { "sub/readme.txt": "here\n" });
    const { events } = await fleet.client.run({ task: "go", profile: "lead", workspace });
    expect(failures(events)).toEqual([]);
    expect(file(fleet, "inner.txt")).toBe("inner\n");
    expect(file(fleet, "outer.txt")).toBe("before\n");
    const outputs = ofType(events, "agent.subagent_waiting_for_merge");
    expect(outputs.map(({ payload }) => payload.output)).toContain("seen");
    const homes = new Set(placesOf(events).map((place) => place.split("/worktrees/")[0]));
    expect(homes.size).toBe(2);
  });

  it("works in the part of a repository that its caller does", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("a")] } : "done";
      if (caller.turn === 1) return { calls: [call("read_file", { path: "b.txt" })] };
      return caller.turn === 2 ? { calls: [write("c.txt", "c\n")] } : "done";
    };
    await using fleet = await openMachines(2, { model });
    const { workspace } = fleet.client;
    initRepository(workspace, { "a.txt": "a\n", "part/b.txt": "b\n" });
    const part = join(workspace, "part");
    const { events } = await fleet.client.run({ task: "go", profile: "lead", workspace: part });
    expect(failures(events)).toEqual([]);
    expect(file(fleet, "part/c.txt")).toBe("c\n");
    expect(placesOf(events)[0]?.endsWith("/part")).toBe(true);
  });
});

/** One child, which writes in its second turn. One of its turns is not answered the first time. */
const slowWriter =
  (turns: Map<number, number>, slow: number): Script =>
  ({ caller }) => {
    if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("a")] } : "done";
    turns.set(caller.turn, (turns.get(caller.turn) ?? 0) + 1);
    if (caller.turn === slow && turns.get(slow) === 1) return { fault: "stall" };
    switch (caller.turn) {
      case 1:
        return { text: "", calls: [call("list_files", { path: "." })], latency_ms: 20 };
      case 2:
        return { calls: [write("a.txt", "made\n")] };
      case 3:
        return { calls: [call("read_file", { path: "a.txt" })] };
      default:
        return "done";
    }
  };

const childOf = (fleet: Fleet) => fleet.given.find(({ worker }) => worker > 0);

describe("a machine that is lost", () => {
  it("before anything was written costs nothing: the next one starts from the bundle", async () => {
    const turns = new Map<number, number>();
    await using fleet = await openMachines(3, { model: slowWriter(turns, 2) });
    const { workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead", workspace });
    await until("its second turn", () => turns.has(2));
    fleet.kill(childOf(fleet)?.worker ?? 1);
    await result;
    const events = await fleet.client.events(runId);
    expect(failures(events)).toEqual([]);
    expect(file(fleet, "a.txt")).toBe("made\n");
    expect(turns.get(1)).toBe(1);
    expect(ofType(events, "agent.claimed", childOf(fleet)?.delegationId).length).toBe(2);
  });

  it("with what was written closes the child and says why, and nothing is merged", async () => {
    const turns = new Map<number, number>();
    await using fleet = await openMachines(3, { model: slowWriter(turns, 3) });
    const { workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead", workspace });
    await until("its third turn", () => turns.has(3));
    fleet.kill(childOf(fleet)?.worker ?? 1);
    await result;
    const events = await fleet.client.events(runId);
    expect(closedAs(events)[0]).toBe("worker_lost");
    expect(failures(events)[0]).toContain("are on a machine that no longer works on it");
    expect(existsSync(join(workspace, "a.txt"))).toBe(false);
    expect(turns.get(3)).toBe(1);
  });

  it("counts what others had put into its copy", async () => {
    let isMerged = false;
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("outer")] } : "done";
      if (caller.depth === 2) {
        return caller.turn === 1 ? { calls: [write("a.txt", "made\n")] } : "written";
      }
      if (caller.turn === 1) return { calls: [delegate("inner")] };
      isMerged = true;
      return { fault: "stall" };
    };
    const choose = ({ depth }: { depth: number }) => depth;
    await using fleet = await openMachines(4, { model, choose });
    const { workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead", workspace });
    await until("the merge", () => isMerged);
    fleet.kill(1);
    await result;
    const events = await fleet.client.events(runId);
    expect(closedAs(events).slice(0, 2)).toEqual(["integrated", "worker_lost"]);
    expect(existsSync(join(workspace, "a.txt"))).toBe(false);
  });

  it("and comes back goes on with what it has, as nobody else could", async () => {
    const turns = new Map<number, number>();
    const model = slowWriter(turns, 3);
    await using fleet = await openMachines(3, { model });
    const { workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead", workspace });
    await until("its third turn", () => turns.has(3));
    const lost = childOf(fleet)?.worker ?? 1;
    const again = await fleet.workers[lost]?.another({ profiles, config, model });
    fleet.kill(lost);
    const { delegationId = "" } = childOf(fleet) ?? {};
    await until(
      "it is done",
      async () => (await again?.engine.worker.workOn({ runId, delegationId })) === "done",
    );
    await result;
    const events = await fleet.client.events(runId);
    expect(failures(events)).toEqual([]);
    expect(file(fleet, "a.txt")).toBe("made\n");
    expect(turns.get(2)).toBe(1);
  });

  it.each([
    ["another process there takes over what was handed in", 1],
    ["another machine that has the folder does", 2],
  ])("of the caller is no loss: %s", async (_name, heir) => {
    let isWritten = false;
    let lead = 0;
    const callerIsLost = Promise.withResolvers<void>();
    const model: Script = async ({ caller }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("a")] } : "done";
      if (caller.turn === 1) return { calls: [write("a.txt", "made\n")] };
      isWritten = true;
      await callerIsLost.promise;
      return "written";
    };
    const choose = ({ depth }: { depth: number }) => (depth === 0 ? lead : 3);
    await using fleet = await openMachines(4, { model, choose, atHome: 2 });
    const { workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead", workspace });
    await until("the file is written", () => isWritten);
    lead = heir;
    fleet.kill(0);
    callerIsLost.resolve();
    expect((await result).status).toBe("completed");
    const events = await fleet.client.events(runId);
    expect(failures(events)).toEqual([]);
    expect(file(fleet, "a.txt")).toBe("made\n");
    const merged = ofType(events, "agent.worktree_merged")[0];
    const last = ofType(events, "agent.claimed").at(-1);
    expect(last?.payload.worker).toBe(fleet.workers[heir]?.store.ownership.worker);
    expect(merged?.payload.strategy).toBe("fast-forward");
  });
});

describe("a bundle that is not what the log names", () => {
  const model: Script = ({ caller }) => {
    if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("a")] } : "done";
    return caller.turn === 1 ? { calls: [write("a.txt", "made\n")] } : "written";
  };

  /** Does something to an artifact as soon as it is kept. */
  async function runWith(isMeant: (text: string) => boolean, damage: (path: string) => void) {
    const fleet = await openMachines(2, { model, breaks: ["I7"] });
    const { home, workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    for (const { store } of fleet.workers) {
      const keep = store.keepArtifact.bind(store);
      store.keepArtifact = async (text) => {
        const kept = await keep(text);
        const path = join(home, "artifacts", kept.hash.slice(0, 2), kept.hash);
        if (isMeant(text)) damage(path);
        return kept;
      };
    }
    const { events } = await fleet.client.run({ task: "go", profile: "lead", workspace });
    return { events, fleet };
  }

  const isStart = (text: string): boolean => text.startsWith('{"mandate":"copy"');
  const isChanges = (text: string): boolean => text.startsWith('{"mandate":"changes"');
  const tamper = (path: string): void => {
    const text = readFileSync(path, "utf8");
    writeFileSync(path, `${text.slice(0, -8)}${text.endsWith("A===") ? "B" : "AAAAAAAA"}`);
  };
  const lose = (path: string): void => renameSync(path, `${path}.lost`);

  // Where artifacts are rows, nobody can reach them in a folder.
  const isOnDisk = process.env["MANDATE_TEST_STORE"] !== "postgres";
  it.skipIf(!isOnDisk).each([
    ["tampered with, before it is worked on", isStart, tamper, /is not the one that the log names/],
    ["missing, before it is worked on", isStart, lose, /is missing from the store/],
    ["tampered with, when it is handed in", isChanges, tamper, /is not the one that the log names/],
    ["missing, when it is handed in", isChanges, lose, /is missing from the store/],
  ] as const)("%s, closes the child and merges nothing", async (_name, isMeant, damage, said) => {
    const { events, fleet } = await runWith(isMeant, damage);
    await using _fleet = fleet;
    expect(closedAs(events)[0]).toBe(isMeant === isStart ? "worker_lost" : "merge_interrupted");
    expect(failures(events)[0]).toMatch(said);
    expect(existsSync(join(fleet.client.workspace, "a.txt"))).toBe(false);
  });
});

describe("copies on machines that only work", () => {
  it("are left when the child fails with work in them, which is nowhere else", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("a")] } : "done";
      if (caller.turn === 1) return { calls: [write("a.txt", "made\n")] };
      return { error: { kind: "refused", message: "no" } } as never;
    };
    await using fleet = await openMachines(2, { model });
    const { home, workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    await fleet.client.run({ task: "go", profile: "lead", workspace });
    const there = fleet.workers[1]?.home ?? "";
    await until("the copy at home is gone", () => copiesIn(home).length === 0);
    const [kept = ""] = copiesIn(there);
    expect(readFileSync(join(there, "worktrees", kept, "a.txt"), "utf8")).toBe("made\n");
  });

  it("go when the child is cancelled without having written", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("a")] } : "done";
      return { fault: "stall" };
    };
    await using fleet = await openMachines(2, { model });
    const { home, workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead", workspace });
    const there = fleet.workers[1]?.home ?? "";
    await until(
      "the child has a place",
      async () => placesOf(await fleet.client.events(runId)).length === 1,
    );
    await fleet.client.engine.cancel(runId, "enough");
    await result;
    await until(
      "both copies are gone",
      () => copiesIn(there).length === 0 && copiesIn(home).length === 0,
    );
  });
});
