import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";
import { mcpClients } from "../init/mcp-clients.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

const init = (...words: readonly string[]) =>
  desk.type(["init", ...words], { environment: environment() });

const environment = () => ({ HOME: desk.home, PATH: "", XDG_CONFIG_HOME: "" });

function fileOf(client: (typeof mcpClients)[number]): string {
  return join(desk.folder, client.projectFile ?? "");
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

describe.each(mcpClients)("for $name", (client) => {
  const parsed = (text: string): unknown =>
    client.format === "json" ? JSON.parse(text) : parse(text);

  test("the entry is shown, written, found again, and taken out without a trace", async () => {
    const file = fileOf(client);
    const shown = await init("--client", client.name);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain(file);
    expect(shown.out).toContain('"mcp"');
    expect(shown.err).toContain("Nothing was written");
    expect(existsSync(file)).toBe(false);

    const written = await init("--client", client.name, "--yes");
    expect(written.out).toContain(client.next);
    const text = readFileSync(file, "utf8");
    const present = parsed(text);
    let entry: unknown = present;
    for (const name of client.path(present, { home: "", environment: {}, platform: "linux" })) {
      entry = (entry as Record<string, unknown>)[name];
    }
    expect(JSON.stringify(entry)).toContain("mcp");
    expect((await init("--client", client.name, "--yes")).out).toContain("has the entry already");
    expect(readFileSync(file, "utf8")).toBe(text);

    await init("--client", client.name, "--remove", "--yes");
    expect(existsSync(file)).toBe(false);
    expect((await init("--client", client.name, "--remove")).out).toContain("has no entry");
  });

  test("--user writes where the person's own settings are", async () => {
    await init("--client", client.name, "--user", "--yes");
    const place = { home: desk.home, environment: {}, platform: process.platform };
    expect(existsSync(client.userFile(place))).toBe(true);
    expect(existsSync(fileOf(client))).toBe(false);
  });
});

const json = mcpClients.filter(({ format }) => format === "json");

test.each(json)("for $name, what else is in the file stays as it is written", async (client) => {
  const file = fileOf(client);
  const [group = ""] = client.path({}, { home: "", environment: {}, platform: "linux" });
  for (const before of [
    `{\n\t// mine\n\t"theme": "dark",\n\t"${group}": {\n\t\t"other": { "command": "x" } // keep\n\t}\n}\n`,
    `{ "a": 1 }`,
    `{\r\n    "a": [1,   2],\r\n    "b": {}\r\n}\r\n`,
    `/* head */\n{\n  "${group}": {\n    /* nothing yet */\n  }\n}`,
  ]) {
    write(file, before);
    await init("--client", client.name, "--yes");
    const between = readFileSync(file, "utf8");
    expect(between).not.toBe(before);
    for (const part of before.match(/"[^"]+"|\/[/*][^\n]*/g) ?? []) {
      expect(between).toContain(part);
    }
    await init("--client", client.name, "--remove", "--yes");
    expect(readFileSync(file, "utf8").replaceAll(/\s+/g, " ").trim()).toBe(
      before.replaceAll(/\s+/g, " ").trim(),
    );
  }
});

test("for codex, comments and other tables stay as they are written", async () => {
  const file = join(desk.folder, ".codex", "config.toml");
  const before = `# mine\nmodel = "m" # here\n\n[mcp_servers.other]\ncommand = "x"\n\n[tui]\nnotifications = true\n`;
  write(file, before);
  await init("--client", "codex", "--yes");
  expect(parse(readFileSync(file, "utf8"))).toMatchObject({
    model: "m",
    mcp_servers: { other: { command: "x" }, mandate: { tool_timeout_sec: 600 } },
    tui: { notifications: true },
  });
  await init("--client", "codex", "--remove", "--yes");
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("for codex, an entry in the middle with tables below it is replaced whole", async () => {
  const file = join(desk.folder, ".codex", "config.toml");
  write(
    file,
    `[mcp_servers.mandate]\ncommand = "old"\n[mcp_servers.mandate.env]\nA = "1"\n[tui]\nx = 1\n`,
  );
  await init("--client", "codex", "--yes");
  const { mcp_servers: servers, tui } = parse(readFileSync(file, "utf8"));
  expect(JSON.stringify(servers)).not.toMatch(/old|env/);
  expect(tui).toEqual({ x: 1 });
});

test("for opencode, servers go where its file has them", async () => {
  write(join(desk.folder, "opencode.json"), `{ "mcp": { "servers": {} } }`);
  await init("--client", "opencode", "--yes");
  const text = readFileSync(join(desk.folder, "opencode.json"), "utf8");
  expect(JSON.parse(text).mcp.servers.mandate.type).toBe("local");
});

test("files that are not what they should be are left alone, with the line", async () => {
  for (const [name, text, sentence] of [
    ["cursor", `{\n "a": \n}`, ".cursor/mcp.json:3: this is not JSON"],
    ["cursor", `[1]`, "this is not a JSON object"],
    ["codex", `a = [`, "this is not TOML"],
    ["codex", `mcp_servers = { mandate = { command = "x" } }`, "cannot be changed safely"],
  ] as const) {
    const client = mcpClients.find((each) => each.name === name);
    const file = client && fileOf(client);
    write(file ?? "", text);
    const { code, err } = await init("--client", name, "--yes");
    expect(err).toContain(sentence);
    expect(code).not.toBe(0);
    expect(readFileSync(file ?? "", "utf8")).toBe(text);
  }
});

test("a linked file stays a link, and keeps its permissions", async () => {
  const target = join(desk.folder, "shared.json");
  writeFileSync(target, "{}", { mode: 0o640 });
  symlinkSync(target, join(desk.folder, ".mcp.json"));
  await init("--client", "claude-code", "--yes");
  expect(lstatSync(join(desk.folder, ".mcp.json")).isSymbolicLink()).toBe(true);
  expect(JSON.parse(readFileSync(target, "utf8")).mcpServers.mandate).toBeDefined();
  expect(statSync(target).mode & 0o777).toBe(0o640);
});

test("a link that came with a project does not lead out of it; your own links at home may", async () => {
  const target = join(desk.home, "other.json");
  for (const text of ["", '{ "a": 1 }']) {
    writeFileSync(target, text);
    symlinkSync(target, join(desk.folder, ".mcp.json"));
    const { code, err } = await init("--client", "claude-code", "--yes");
    expect(code).not.toBe(0);
    expect(err).toContain(target);
    expect(readFileSync(target, "utf8")).toBe(text);
    unlinkSync(join(desk.folder, ".mcp.json"));
  }
  symlinkSync(desk.home, join(desk.folder, ".cursor"));
  expect((await init("--client", "cursor", "--yes")).code).not.toBe(0);
  expect(existsSync(join(desk.home, "mcp.json"))).toBe(false);
  symlinkSync(target, join(desk.home, ".claude.json"));
  expect((await init("--client", "claude-code", "--user", "--yes")).code).toBe(0);
  expect(JSON.parse(readFileSync(target, "utf8"))).toMatchObject({ a: 1, mcpServers: {} });
});

test.each([
  ['{"mcpServers":[]}', '"mcpServers" should hold'],
  ['{"mcpServers":null}', '"mcpServers" should hold'],
  ['{"mcpServers":"x"}', '"mcpServers" should hold'],
  ['{"mcpServers":{},"mcpServers":{"mandate":{"command":"other"}}}', "more than one way"],
  [`{"a":${"[".repeat(100_000)}`, "nested too deep"],
])("what is not to be read in one way is left as it is: %.70s", async (text, sentence) => {
  const file = join(desk.folder, ".mcp.json");
  writeFileSync(file, text);
  const { code, err } = await init("--client", "claude-code", "--yes");
  expect(code).toBe(2);
  expect(err).toContain(sentence);
  expect(err).toContain(file);
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("paths of this machine are told of where they go into a project's file, and only there", async () => {
  const shared = await init("--client", "claude-code");
  expect(shared.err).toMatch(/has paths of this machine, and \.mcp\.json may be shared.*--user/s);
  expect((await init("--client", "claude-code", "--user")).err).not.toContain("this machine");
  await init("--client", "claude-code", "--yes");
  const removed = await init("--client", "claude-code", "--remove", "--yes");
  expect(removed.err).toBe("");
});

test("no paths are needed where the name leads to this program", async () => {
  const program = join(desk.folder, "bin", "mandate");
  write(program, "");
  chmodSync(program, 0o755);
  const [, before = ""] = process.argv;
  process.argv[1] = program;
  const { err, out } = await desk
    .type(["init", "--client", "claude-code"], {
      environment: { ...environment(), PATH: dirname(program) },
    })
    .finally(() => {
      process.argv[1] = before;
    });
  expect(out).toContain('"command": "mandate"');
  expect(err).not.toContain("this machine");
});

test("a person is asked, and no means no", async () => {
  const answers = ["n", "y"];
  for (const isWritten of [false, true]) {
    const ask = () => Promise.resolve(answers.shift() ?? "");
    await desk.type(["init", "--client", "cursor"], { environment: environment(), ask });
    expect(existsSync(join(desk.folder, ".cursor", "mcp.json"))).toBe(isWritten);
  }
});

test("a client that is not known is named, with the nearest one", async () => {
  expect((await init("--client", "claude_code")).err).toContain("Did you mean claude-code?");
  expect((await init("--remove")).err).toContain("There are claude-code, codex");
});
