import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";
import { readJsonObject } from "../init/edit-json.ts";
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

function write(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

describe.each(mcpClients)("for $name", (client) => {
  const parsed = (text: string): unknown =>
    client.format === "json" ? JSON.parse(text) : parse(text);

  test("the entry is shown, written, found again, and taken out without a trace", async () => {
    const file = fileOf(client);
    const shown = await init("--client", client.name);
    expect(shown.code).toBe(1);
    expect(shown.out).toContain(file);
    expect(shown.out).toContain(client.format === "json" ? '"mcp"' : "[mcp_servers.mandate]");
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

    const asked = await init("--client", client.name, "--remove");
    expect([asked.code, asked.err]).toEqual([1, "Nothing was removed. --yes removes it.\n"]);
    const removed = await init("--client", client.name, "--remove", "--yes");
    expect(removed.out).toContain(`Removed from: ${file}`);
    expect(removed.out).not.toContain("Written");
    expect(readdirSync(desk.folder)).toEqual([]);
    const again = await init("--client", client.name, "--remove");
    expect([again.code, again.out]).toEqual([0, expect.stringContaining("has no entry")]);
  });

  test("--user writes where the person's own settings are", async () => {
    await init("--client", client.name, "--user", "--yes");
    const place = { home: desk.home, environment: {}, platform: process.platform };
    expect(existsSync(client.userFile(place))).toBe(true);
    expect(existsSync(fileOf(client))).toBe(false);
  });
});

/** Whether the letters of the first text are in the second one, in that order. */
function isWithin(part: string, whole: string): boolean {
  let at = 0;
  for (const letter of whole.split("")) if (letter === part[at]) at++;
  return at === part.length;
}

function parsedOf({ format }: (typeof mcpClients)[number], text: string): unknown {
  const body = text.replace("\uFEFF", "");
  return format === "json" ? readJsonObject(body, "a.json") : parse(body);
}

/** Texts with every habit that a person's file may have; GROUP is the key that holds the servers. */
const jsonTexts = [
  `{\n\t// mine\n\t"theme": "dark",\n\t"GROUP": {\n\t\t"other": { "command": "x" } // keep\n\t}\n}\n`,
  `{ "a": 1 }`,
  `{"a":1,"GROUP":{"other":{"command":"x","args":["y"]}}}`,
  `{"a":1,"GROUP":{}}\n`,
  `{\r\n    "a": [1,   2],\r\n    "b": {}\r\n}\r\n`,
  `/* head */\n{\n  "GROUP": {\n    /* nothing yet */\n  }\n}`,
  `{\n  "GROUP": {\n    "other": { "command": "x" }, // keep\n  },\n  "z": [ 1,2 ], // last\n}\n// end`,
  `\uFEFF{\n  "a": { "b":1 }\n}\n`,
  `{ // one\n}`,
  "{}",
  "\n",
  "",
] as const;

const tomlTexts = [
  `# mine\nmodel = "m" # here\n\n[mcp_servers.other]\ncommand = "x"\n\n[tui]\nnotifications = true\n`,
  `model = "m"`,
  `\uFEFFmodel = "m"\r\n\r\n[tui]\r\nx = [\r\n  ["a"],\r\n]\r\n`,
  `[mcp_servers]\n`,
  `text = """\n[mcp_servers.mandate]\n"""\n\n\n`,
  "# only a comment",
  "",
] as const;

const oneOfEach = mcpClients.filter(({ name }) => name === "claude-code" || name === "codex");

describe.each(oneOfEach)("for $name, a file that is there", (client) => {
  const [group = ""] = client.path({}, { home: "", environment: {}, platform: "linux" });
  const texts = client.format === "json" ? jsonTexts : tomlTexts;

  test.each(texts.map((text) => text.replace("GROUP", group)))(
    "gets the entry, and keeps every other byte: %j",
    async (before) => {
      const file = fileOf(client);
      write(file, before);
      expect((await init("--client", client.name, "--yes")).code).toBe(0);
      const between = readFileSync(file, "utf8");
      if (client.format === "toml") expect(between.startsWith(before)).toBe(true);
      else expect(isWithin(before, between)).toBe(true);
      const present = parsedOf(client, between);
      expect(present).toMatchObject(parsedOf(client, before) as object);
      expect(JSON.stringify(present)).toContain("mandate");

      await init("--client", client.name, "--remove", "--yes");
      expect(readFileSync(file, "utf8")).toBe(before);
    },
  );
});
test("a file that was edited since keeps the edits, and loses what init made", async () => {
  const before = `{\n  "GROUP": {}, // mine\n  "a": 1\n}\n`;
  for (const [group, shared] of [
    ["mcpServers", before],
    ["other", before.replace("{}", "1")],
  ] as const) {
    const file = write(join(desk.folder, ".mcp.json"), shared.replace("GROUP", group));
    await init("--client", "claude-code", "--yes");
    const edited = readFileSync(file, "utf8").replace('"a": 1', '"a": [2,3]');
    writeFileSync(file, edited);
    await init("--client", "claude-code", "--remove", "--yes");
    expect(readFileSync(file, "utf8").replaceAll(/\s/g, "")).toBe(
      shared.replace("GROUP", group).replace("1\n}", "[2,3]\n}").replaceAll(/\s/g, ""),
    );
  }
  mkdirSync(join(desk.folder, ".gemini"));
  await init("--client", "gemini", "--yes");
  await init("--client", "gemini", "--remove", "--yes");
  expect(readdirSync(join(desk.folder, ".gemini"))).toEqual([]);
  const file = join(desk.folder, ".cursor", "mcp.json");
  await init("--client", "cursor", "--yes");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("  ", "\t"));
  write(join(desk.folder, ".cursor", "rules"), "mine");
  await init("--client", "cursor", "--remove", "--yes");
  expect(readdirSync(dirname(file))).toEqual(["rules"]);
});

test("without a note of what init made, only the entry is removed", async () => {
  const file = write(
    join(desk.folder, ".mcp.json"),
    `{ "mcpServers": { "b": {}, "mandate": {} } }`,
  );
  await init("--client", "claude-code", "--remove", "--yes");
  expect(readFileSync(file, "utf8")).toBe(`{ "mcpServers": { "b": {} } }`);
  writeFileSync(file, `{ "mcpServers": { "mandate": {} } }`);
  await init("--client", "claude-code", "--remove", "--yes");
  expect(readFileSync(file, "utf8")).toBe(`{ "mcpServers": { } }`);
});

test("an older entry is replaced, and a later removal leaves neither", async () => {
  const file = join(desk.folder, ".mcp.json");
  await init("--client", "claude-code", "--yes");
  writeFileSync(file, readFileSync(file, "utf8").replace('"mcp"', '"old"'));
  expect((await init("--client", "claude-code", "--yes")).out).toContain('-     "old"');
  await init("--client", "claude-code", "--remove", "--yes");
  expect(readdirSync(desk.folder)).toEqual([]);
});

test("for opencode, a file with comments is used, wherever the entry is already", async () => {
  const commented = write(
    join(desk.folder, "opencode.jsonc"),
    `{\n  // mine\n  "theme": "x",\n}\n`,
  );
  const text = readFileSync(commented, "utf8");
  await init("--client", "opencode", "--yes");
  expect(readdirSync(desk.folder)).toEqual(["opencode.jsonc"]);
  expect(readFileSync(commented, "utf8")).toMatch(/\/\/ mine.*"mandate"/s);
  await init("--client", "opencode", "--remove", "--yes");
  expect(readFileSync(commented, "utf8")).toBe(text);
  rmSync(commented);
  await init("--client", "opencode", "--yes");
  writeFileSync(commented, text);
  await init("--client", "opencode", "--remove", "--yes");
  expect(readdirSync(desk.folder)).toEqual(["opencode.jsonc"]);
});

test("keys go to the server by name, also those of a provider of one's own", async () => {
  write(
    join(desk.home, ".config", "mandate", "config.yaml"),
    "models: { providers: { a: { kind: openai, baseUrl: https://a.example, apiKeyEnv: MY_KEY } } }",
  );
  const codex = await init("--client", "codex");
  expect(codex.out).toMatch(
    /env_vars = \[\n[^\]]*"OPENAI_API_KEY",[^\]]*"MY_KEY",[^\]]*"MANDATE_HOME"/,
  );
  expect(codex.out).toMatch(/default_tools_approval_mode = "approve"\n\+ required = true/);
  const gemini = await init("--client", "gemini");
  expect(gemini.out).toContain('"MY_KEY": "$MY_KEY"');
  expect(gemini.out).toContain('"GEMINI_API_KEY": "$GEMINI_API_KEY"');
});

test("for codex, an entry in the middle with tables below it is replaced whole", async () => {
  const file = join(desk.folder, ".codex", "config.toml");
  write(
    file,
    `[mcp_servers.mandate]\ncommand = "old"\n[mcp_servers.mandate.env]\nA = "1"\n[tui]\nx = 1\n`,
  );
  await init("--client", "codex", "--yes");
  const { mcp_servers: servers, tui } = parse(readFileSync(file, "utf8"));
  expect(JSON.stringify(servers)).not.toMatch(/old|"env"/);
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
    ["codex", `mcp_servers = { other = { command = "x" } }`, "cannot be changed safely"],
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

test.each(mcpClients)(
  "a link to nothing on the way to a file of $name is named",
  async (client) => {
    const place = { home: desk.home, environment: {}, platform: process.platform };
    for (const [file, ...words] of [[fileOf(client)], [client.userFile(place), "--user"]]) {
      for (const link of [file ?? "", dirname(file ?? "")]) {
        if ([desk.folder, desk.home].includes(link)) continue;
        mkdirSync(dirname(link), { recursive: true });
        rmSync(link, { recursive: true, force: true });
        symlinkSync(join(desk.home, "nowhere"), link);
        const { code, err } = await init("--client", client.name, "--yes", ...words);
        expect([code, err]).toEqual([2, expect.stringContaining(`${link} is a link to nothing.`)]);
        expect(lstatSync(link).isSymbolicLink()).toBe(true);
        unlinkSync(link);
        expect(existsSync(join(desk.home, "nowhere"))).toBe(false);
      }
    }
  },
);

test("a file in place of a client's folder is named", async () => {
  const file = write(join(desk.folder, ".cursor"), "mine");
  const { code, err } = await init("--client", "cursor", "--yes");
  expect([code, err]).toEqual([2, expect.stringContaining(`${file} is not a folder.`)]);
  expect(readFileSync(file, "utf8")).toBe("mine");
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

test.each([
  ["bin", "mandate", [], '"command": "mandate"'],
  // What npx puts on the PATH is not there when a client starts the server.
  ["node_modules/.bin", "npx", [], '"--no",\n+     "mandate",'],
  ["_npx/1a/node_modules/.bin", "npx", ["--user"], '"--yes",\n+     "mandate",'],
])("a client starts %s/mandate as %s", async (folder, name, words, shown) => {
  const program = write(join(desk.folder, folder, "mandate"), "");
  chmodSync(program, 0o755);
  const [, before = ""] = process.argv;
  process.argv[1] = program;
  const { err, out } = await desk
    .type(["init", "--client", "claude-code", ...words], {
      environment: { ...environment(), PATH: dirname(program) },
    })
    .finally(() => {
      process.argv[1] = before;
    });
  expect(out).toContain(`"command": "${name}"`);
  expect(out).toContain(shown);
  expect(err).not.toContain("this machine");
});

test("a person is asked, and no means no", async () => {
  const answers = ["n", "y"];
  for (const isWritten of [false, true]) {
    const ask = () => Promise.resolve(answers.shift() ?? "");
    const asked = await desk.type(["init", "--client", "cursor"], {
      environment: environment(),
      ask,
    });
    expect(asked.code).toBe(isWritten ? 0 : 1);
    expect(existsSync(join(desk.folder, ".cursor", "mcp.json"))).toBe(isWritten);
  }
});

test("your home folder is no project, whatever the client's file is called", async () => {
  for (const { name } of mcpClients) {
    const words = ["init", "--client", name, "--yes"];
    const { code } = await desk.type(words, { environment: environment(), cwd: desk.home });
    // A client may have one file for both: then it is the person's own, and consent to nothing.
    const own = ["gemini", "cursor", "codex"].includes(name);
    expect([name, code]).toEqual([name, own ? 0 : 3]);
  }
  const folders = await desk.type(["folders", "--json"], { environment: environment() });
  expect(folders.out).not.toContain(`"${desk.home}"`);
});

test("what a client writes while the person is asked is kept", async () => {
  const file = write(join(desk.home, ".claude.json"), "{}");
  const ask = async () => {
    writeFileSync(file, '{ "numStartups": 2 }');
    return "y";
  };
  const words = ["init", "--client", "claude-code", "--user"];
  const { code, err } = await desk.type(words, { environment: environment(), ask });
  expect([code, err]).toEqual([1, expect.stringContaining("changed while you were asked")]);
  expect(readFileSync(file, "utf8")).toBe('{ "numStartups": 2 }');
});

test("a client is known by its other names, and a misspelled one by the nearest", async () => {
  for (const [name, title] of [
    ["claude", "Claude Code"],
    ["Claude_Code", "Claude Code"],
    ["gemini-cli", "Gemini CLI"],
    ["VS-Code", "VS Code"],
    ["OpenCode", "opencode"],
    ["codex-cli", "Codex"],
  ] as const) {
    expect((await init("--client", name)).out).toContain(`${title}: `);
  }
  expect((await init("--client", "claud-code")).err).toContain("Did you mean claude-code?");
  expect((await init("--client", "cursr")).err).toContain("Did you mean cursor?");
  expect((await init("--client", "emacs")).err).toContain("There are claude-code, codex");
  expect((await init("--remove")).err).toContain("There are claude-code, codex");
});
