import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk, type Typed } from "../desk.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

const environment = { MANDATE_MODEL: "scripted/small" };
const type = (words: readonly string[], input?: string): Promise<Typed> =>
  desk.type(["agents", ...words], { environment, ...(input !== undefined && { input }) });

async function typeWell(...words: string[]): Promise<string> {
  const { code, out, err } = await type(words);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

test("agents are registered in words or with bars, listed, shown, changed and unregistered", async () => {
  expect(await typeWell()).toBe("No agent profiles registered.\n");
  expect(await typeWell("register", "@scribe", "general", "Writes", "docs")).toBe(
    "Registered agent @scribe -> general.\n",
  );
  expect(await typeWell("register", "@coder | coder | Writes: code")).toBe(
    "Registered agent @coder -> coder.\n",
  );
  expect(await typeWell("list")).toBe(
    [
      "Agent profiles:",
      "- @coder -> coder: Writes: code [scripted/small]",
      "- @scribe -> general: Writes docs [scripted/small]",
      "",
    ].join("\n"),
  );
  await typeWell("set-skills", "@scribe", "default: a", "allowed: a, b");
  expect(JSON.parse(await typeWell("show", "@scribe", "--json"))).toEqual({
    agentId: "@scribe",
    profileId: "general",
    description: "Writes docs",
    defaultForwardSkills: ["a"],
    allowedForwardSkills: ["a", "b"],
    profileExists: true,
    model: "scripted/small",
  });
  expect(await typeWell("unregister", "@scribe")).toBe("Unregistered agent @scribe.\n");
  expect(JSON.parse(await typeWell("--json"))).toMatchObject([{ agentId: "@coder" }]);
});

test("pins are set for the workspace, the user and a session that is named", async () => {
  await typeWell("register", "@coder", "coder", "Writes code");
  expect(await typeWell("pin", "@coder", "--workspace")).toBe(
    "Pinned @coder (coder) for workspace scope.\n",
  );
  expect(await typeWell("pin", "@coder", "--session-id", "s1")).toBe(
    "Pinned @coder (coder) for session scope.\n",
  );
  expect(JSON.parse(await typeWell("pins", "--json"))).toMatchObject({
    effective: {
      scope: "workspace",
      profileId: "coder",
      source: `profile-pin:workspace:${desk.folder}`,
    },
  });
  expect(await typeWell("unpin", "--workspace")).toBe("Removed pin for workspace scope.\n");
  expect(await typeWell("pins")).toBe("No pinned profile is currently active.\n");
  const { code, err } = await type(["pin", "@coder"]);
  expect(code).toBe(2);
  expect(err).toContain("There is no session here that could have a pin. Say --user, ");
});

test("what is exported can be applied from a file and from standard input", async () => {
  await typeWell("register", "@coder", "coder", "Writes code");
  const yaml = await typeWell("export-yaml");
  await typeWell("unregister", "@coder");
  desk.write("agents.yaml", yaml);
  expect(await typeWell("apply-yaml", "agents.yaml")).toBe(
    "Applied: agents 1, profiles 0, pins 0.\n",
  );
  await typeWell("unregister", "@coder");
  expect((await type(["apply-yaml", "-"], yaml)).code).toBe(0);
  expect(await typeWell("export-yaml")).toBe(yaml);
});

test.each([
  [["regster", "@w1"], "Did you mean /agents register?"],
  [["show", "@nobody"], "Agent not found: @nobody"],
  [["register", "@coder", "coder"], "It takes 3 parts with | between them; there are 2."],
  [["register", "@coder", "coder", "a | b"], "It takes 3 parts"],
  [["register", "@coder", "nobody", "d"], 'There is no profile "nobody".'],
  [["register", "@coder", "coder", "a\nb"], "It has more than one line."],
  [["list", "--global"], "It takes nothing more."],
  [["list", "--role", "boss"], '--role takes viewer, operator, admin; it is "boss".'],
  [["apply-yaml"], "apply-yaml takes one file"],
  [["apply-yaml", "missing.yaml"], "missing.yaml: no such file or folder."],
  [["apply-yaml", "."], ".: not a regular file."],
  [["constructor"], 'There is no command "/agents constructor"'],
])("what was typed wrong ends with 2: %j", async (words, problem) => {
  const { code, out, err } = await type(words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(problem);
});

test("what a role does not allow ends with 3, and changes nothing", async () => {
  await typeWell("register", "@coder", "coder", "Writes code");
  for (const [words, refusal] of [
    [["register", "@w1", "coder", "d"], "Registering agent profiles requires operator access."],
    [["unregister", "@coder"], "Unregistering agent profiles requires operator access."],
    [["pin", "@coder", "--global"], "Global pin requires operator access."],
  ] as const) {
    const { code, err } = await type([...words, "--role", "viewer"]);
    expect({ code, err }).toEqual({ code: 3, err: `mandate: ${refusal}\n` });
  }
  expect(await typeWell("list", "--role", "viewer")).toContain("- @coder -> coder");
});

const playbook = 'version: 1\nreplies:\n  - text: "Because of the clock."\n';

test("a command that only reads is answered on standard output, and as data", async () => {
  expect(await desk.type(["/status"])).toEqual({
    code: 0,
    out: "Nothing runs.\n",
    err: "",
  });
  const help = await desk.type(["/help", "cancel"]);
  expect(help.out).toBe(
    "Commands:\n/cancel <id>: Cancels a run or a delegation, with everything below it. It can be resumed.\n",
  );
  const { out } = await desk.type(["/inbox", "open", "--json"]);
  expect(JSON.parse(out)).toEqual([]);
});

test("an agent that a command starts is worked on to its end", async () => {
  const file = join(desk.folder, "answers.yaml");
  writeFileSync(file, playbook);
  const typed = await desk.type(["/oracle", "Why", "is", "it slow?", "--playbook", file]);
  expect(typed.err).toMatch(/Started oracle#[0-9a-f]{6} in run r[0-9a-f]{6}\./);
  expect(typed).toMatchObject({ code: 0, out: "Because of the clock.\n" });
  const tree = await desk.type(["/tree"]);
  expect(tree.out).toMatch(/^Run r[0-9a-f]{6} succeeded: Why is it slow\?\n- oracle#/);
});

test("what was typed wrong ends with 2, what a role does not allow with 3", async () => {
  const wrong = await desk.type(["/cancel", "everything"]);
  expect(wrong).toMatchObject({ code: 2, out: "" });
  expect(wrong.err).toContain("Usage: /cancel <id>");
  expect((await desk.type(["command", "status"])).err).toContain("A command begins with a slash");
  const refused = await desk.type(["/oracle why", "--role", "viewer"]);
  expect(refused).toMatchObject({ code: 3, out: "" });
  expect(refused.err).toContain("Starting an agent requires operator access.");
});

test("a session that is named keeps what was said of its workspace", async () => {
  const say = (...words: string[]) => desk.type(["command", ...words, "--session-id", "s1"]);
  expect((await say("/workspace readonly")).out).toContain("read-only");
  expect((await say("/workspace")).out).toContain("read-only");
  expect((await desk.type(["command", "/workspace"])).out).toContain("writable");
  expect((await say("--read-only", "/workspace writable")).code).toBe(3);
});

test("a chat command is typed as it is, in one word or in several", async () => {
  await typeWell("register", "@coder", "coder", "Writes code");
  for (const words of [["/agents", "list"], ["/agents list"], ["/agents"]]) {
    const typed = await desk.type(words, { environment });
    expect(typed).toMatchObject({ code: 0, err: "" });
    expect(typed.out).toContain("- @coder -> coder");
  }
  const pinned = await desk.type(["/agents", "pin", "@coder", "--workspace"], { environment });
  expect(pinned.out).toBe("Pinned @coder (coder) for workspace scope.\n");
  expect(await desk.type(["/agnts"])).toMatchObject({ code: 2, out: "" });
});

test("`command` is the older name for chat commands, and help does not list it", async () => {
  const typed = ["/status", "/help cancel"];
  for (const word of typed) {
    expect(await desk.type(["command", word])).toEqual(await desk.type([word]));
  }
  const { out } = await desk.type(["help"]);
  expect(out).toContain("  /COMMAND  ");
  expect(out).not.toMatch(/^ {2}command /m);
  expect((await desk.type(["command", "--help"])).out).toBe(
    (await desk.type(["/status", "-h"])).out,
  );
});
