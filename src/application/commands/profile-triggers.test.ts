import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Profile, Triggers } from "../../agents/profiles/profile.ts";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { commandTable } from "./command-table.ts";
import { parseCommand } from "./parse-command.ts";
import { commandsWith, hotkeysOf } from "./profile-triggers.ts";
import { hear, operator, say, viewer } from "./say.test-support.ts";

const named = (name: string, triggers: Triggers, fields: Partial<Profile> = {}): Profile =>
  testProfile(name, { triggers, origin: `workspace: ${name}.md`, ...fields });

const shipped = (name: string, triggers: Triggers): Profile =>
  named(name, triggers, { origin: `built in: ${name}.md` });

/** What profiles add to the commands that there always are. */
const wordsOf = (profiles: readonly Profile[]) =>
  commandsWith(profiles).filter((command) => !commandTable.includes(command));

describe("the words that profiles bring", () => {
  it("start their profile with the text that follows", async () => {
    const scribe = named("scribe", { slash: ["note", "jot"] });
    await using engine = await openEngine({ model: () => "Noted.", profiles: [scribe] });
    expect(await hear(engine, "/note the\nend")).toBe("Started scribe#D in run R.");
    expect(await hear(engine, "/jot it down")).toBe("Started scribe#D in run R.");
    expect((await say(engine, "/note", viewer)).reply).toBe(
      "The task is missing.\nUsage: /note <task>",
    );
    expect((await say(engine, "/note x", viewer)).reply).toBe(
      "Starting an agent requires operator access.",
    );
    expect(await hear(engine, "/help note", viewer)).toBe(
      "Commands:\n/note <task>: The scribe of a test",
    );
    const isOver = async () => (await engine.store.listRuns({ open: true })).length === 0;
    await until("all runs end", isOver);
  });

  it("are none of ours, and take none of ours away", () => {
    const builtIn = [...new Set(commandTable.map(({ name }) => name.split(" ")[0] ?? ""))];
    const greedy = named("greedy", { slash: [...builtIn, "own"] });
    expect(wordsOf([greedy]).map(({ name }) => name)).toEqual(["own"]);
    const commands = commandsWith([greedy]);
    for (const command of commandTable) expect(commands).toContain(command);
    expect(parseCommand("/oracle x", commands)).toEqual({ name: "oracle", given: { task: "x" } });
    expect(commands.find(({ name }) => name === "oracle")?.profile).toBe("oracle");
  });

  it("are no words that a program could not have written into a file", () => {
    const odd = named("odd", {
      slash: ["a b", "", "/x", "__proto__", "A", "ü", "a\nb", "x".repeat(99)],
    });
    expect(wordsOf([odd])).toEqual([]);
  });

  it("of two profiles that claim one, start neither and name both", () => {
    const profiles = [named("one", { slash: ["go"] }), named("two", { slash: ["go", "walk"] })];
    const commands = commandsWith(profiles);
    expect(parseCommand("/go now", commands)).toEqual({
      name: "go",
      usage:
        "Several profiles claim /go: one (workspace: one.md) and two (workspace: two.md). Name one of them: /spawnagent one <prompt>\nUsage: /go",
    });
    expect(parseCommand("/walk now", commands)).toMatchObject({ name: "walk" });
  });

  it("belong to a profile of the person before one that only a project has", () => {
    const project = { cut: [], files: {} };
    const planted = named("planted", { slash: ["go"], hotkeys: ["ctrl+g"] }, { project });
    const mine = named("mine", { slash: ["go"], hotkeys: ["ctrl+g"] }, { origin: "user: mine.md" });
    expect(wordsOf([planted, mine]).map(({ profile }) => profile)).toEqual(["mine"]);
    expect(wordsOf([planted]).map(({ profile }) => profile)).toEqual(["planted"]);
  });

  it("belong to a shipped profile before all others, and not to words that a project gave it", () => {
    const own = shipped("ours", { slash: ["go"] });
    const theirs = named("theirs", { slash: ["go"] });
    const profileOf = (profiles: Profile[]) =>
      wordsOf(profiles).map(({ name, profile }) => [name, profile]);
    expect(profileOf([theirs, own])).toEqual([["go", "ours"]]);
    expect(profileOf([own, theirs])).toEqual([["go", "ours"]]);
    const changed = { ...own, origins: { "triggers.slash": "workspace: ours.md" } };
    expect(profileOf([changed, theirs])).toEqual([["go", undefined]]);
  });

  it("of a profile that watches, are a switch", () => {
    const guard = named("guard", { slash: ["guard"] }, { capabilities: ["watcher"] });
    const both = named("both", { slash: ["both"] }, { capabilities: ["watcher", "subtask"] });
    const commands = commandsWith([guard, both]);
    expect(parseCommand("/guard", commands)).toMatchObject({ given: { act: "toggle" } });
    expect(parseCommand("/guard look around", commands)).toHaveProperty("usage");
    expect(parseCommand("/both look around", commands)).toMatchObject({
      given: { act: "task", task: "look around" },
    });
  });

  it("count once somebody acknowledged the file that they came in", async () => {
    await using engine = await openEngine({ model: () => "Done." });
    const folder = join(engine.workspace, ".mandate/agents");
    mkdirSync(folder, { recursive: true });
    mkdirSync(join(engine.workspace, ".git"));
    const text =
      "---\nname: stranger\ndescription: Comes along.\ntriggers:\n  slash: [hello, help]\n---\nHi.\n";
    const file = join(folder, "stranger.md");
    writeFileSync(file, text);
    await using second = await engine.another({ model: () => "Done." });
    expect((await say(second, "/hello there")).reply).toMatch(/^There is no command "\/hello"/);
    expect(await second.store.listRuns({})).toEqual([]);
    const [layer] = second.profiles.pending();
    const { plane, view } = second.control;
    await plane.trust(layer?.untrustedHash ?? "", { file, name: "stranger" }, operator);
    await view.refresh(true);
    expect(await hear(second, "/help hello")).toBe("Commands:\n/hello <task>: Comes along.");
    expect(await hear(second, "/help help")).toContain("/help [command]: Lists the commands");
  });
});

describe("the keys that profiles ask for", () => {
  it("type what starts the profile", async () => {
    await using engine = await openEngine({ model: () => "Done." });
    expect(hotkeysOf(engine.profiles.all())).toEqual({
      hotkeys: [{ keys: "ctrl+shift+p", profile: "pair", command: "/pair", needsText: false }],
      conflicts: [],
    });
    const scribe = named("scribe", { slash: ["note"], hotkeys: ["shift+ctrl+n"] });
    const mute = named("mute", { hotkeys: ["f5"] });
    expect(hotkeysOf([scribe, mute]).hotkeys).toEqual([
      { keys: "ctrl+shift+n", profile: "scribe", command: "/note ", needsText: true },
      { keys: "f5", profile: "mute", command: "/spawnagent mute ", needsText: true },
    ]);
  });

  it("are none that people type with, or end programs with", () => {
    const typed = ["a", "enter", "shift+a", "+", "+++", "ctrl", "ctrl+shift", "p+q", "ctrl+p+q"];
    const greedy = named("greedy", {
      hotkeys: [...typed, "ctrl+c", "ctrl+d", "ctrl+z", "shift+f5"],
    });
    const twin = named("twin", { hotkeys: ["a", "ctrl+c"] });
    expect(hotkeysOf([greedy, twin])).toMatchObject({
      hotkeys: [{ keys: "shift+f5" }],
      conflicts: [],
    });
  });

  it("lead nowhere when two profiles claim them, in whatever order they are written", () => {
    const one = named("one", { hotkeys: ["ctrl+alt+x"] });
    const two = named("two", { hotkeys: ["alt+ctrl+x"] });
    expect(hotkeysOf([one, two])).toEqual({
      hotkeys: [],
      conflicts: [
        "Several profiles claim ctrl+alt+x: one (workspace: one.md) and two (workspace: two.md).",
      ],
    });
    const own = shipped("ours", { hotkeys: ["ctrl+alt+x"] });
    expect(hotkeysOf([one, two, own]).hotkeys.map(({ profile }) => profile)).toEqual(["ours"]);
  });
});
