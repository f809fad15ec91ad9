import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { MandateError } from "../../ports/mandate-error.ts";
import { loadPlaybook, parsePlaybook } from "./load-playbook.ts";

const folder = mkdtempSync(join(tmpdir(), "playbook-"));
afterAll(() => rmSync(folder, { recursive: true }));

function refusal(replies: string): string {
  try {
    parsePlaybook(`version: 1\nreplies:\n${replies}`, "demo.yaml");
  } catch (error) {
    expect(error).toBeInstanceOf(MandateError);
    expect((error as MandateError).code).toBe("playbook-invalid");
    return (error as MandateError).message;
  }
  throw new Error("accepted");
}

test("YAML and JSON are read, and a playbook without a name is called by its file", async () => {
  const path = join(folder, "good.yaml");
  writeFileSync(path, "version: 1\nreplies:\n  - when: {turn: 1}\n    text: hi\n");
  const book = await loadPlaybook(path);
  expect(book).toEqual({
    version: 1,
    name: "good.yaml",
    replies: [{ when: { turn: 1 }, text: "hi" }],
  });
  const json = '{"version":1,"name":"mine","replies":[{"fault":"stall"}]}';
  expect(parsePlaybook(json, "x.json")).toMatchObject({ name: "mine" });
});

test.each([
  [
    "an unknown key",
    "  - txet: hi\n    text: x\n",
    'demo.yaml:3: unknown key "txet"; did you mean "text"?',
  ],
  [
    "an unknown condition",
    "  - text: x\n    when:\n      profil: a\n",
    'demo.yaml:5: unknown key "profil"; did you mean "profile"?',
  ],
  [
    "nothing to say",
    "  - when: {turn: 1}\n",
    "demo.yaml:3: replies[0]: a reply needs text, calls or fault",
  ],
  [
    "an unknown fault",
    "  - fault: boom\n",
    /^demo\.yaml:3: replies\[0\]\.fault: expected one of "rate-limited"/,
  ],
  [
    "a bad pattern",
    "  - when: {last: '/(/'}\n    text: x\n",
    /^demo\.yaml:3: replies\[0\]\.when\.last: not a pattern/,
  ],
  ["a bad range", "  - when: {turn: later}\n    text: x\n", /"3\+" or "2-4"/],
  [
    "an unknown placeholder",
    "  - text: '{{colour}}'\n",
    'demo.yaml:3: replies[0].text: unknown placeholder "{{colour}}"',
  ],
  [
    "one deep in an input",
    "  - calls:\n      - tool: t\n        input: {a: ['{{result:0}}']}\n",
    /^demo\.yaml:5: replies\[0\]\.calls\[0\]\.input\.a\[0\]: unknown/,
  ],
  [
    "a wait without a limit",
    "  - text: x\n    retry_after_ms: 5\n",
    /^demo\.yaml:4: .*only with fault/,
  ],
  [
    "a negative latency",
    "  - text: x\n    latency_ms: -5\n",
    /^demo\.yaml:4: replies\[0\]\.latency_ms/,
  ],
  [
    "a wrong type",
    "  - text: 5\n",
    "demo.yaml:3: replies[0].text: expected string, received number",
  ],
])("%s is refused with file, line and help", (_, replies, expected) => {
  const message = refusal(replies);
  if (typeof expected === "string") expect(message).toBe(expected);
  else expect(message).toMatch(expected);
});

test("a wrong version and a missing list are refused", () => {
  expect(() => parsePlaybook("version: 2\nreplies: [{text: x}]", "p")).toThrow(/p:1: version/);
  expect(() => parsePlaybook("version: 1", "p")).toThrow('p:1: missing key "replies"');
  expect(() => parsePlaybook("", "p")).toThrow(/expected object/);
});

test.each([
  ["a missing file", () => join(folder, "missing.yaml"), /cannot be read/],
  ["a folder", () => folder, /is not a file/],
  ["a device", () => "/dev/zero", /is not a file/],
  ["a pipe", makePipe, /is not a file/],
  ["more than a megabyte", () => makeFile("x".repeat(1_000_001)), /larger than 1 MB/],
  ["bytes that are no text", () => makeFile(Buffer.from([0xff, 0xfe, 0x00])), /UTF-8/],
])("%s is refused before it is parsed", async (_, path, expected) => {
  const loading = loadPlaybook(path());
  await expect(loading).rejects.toMatchObject({ code: "playbook-invalid" });
  await expect(loading).rejects.toThrow(expected);
});

test("the playbooks of the guide are valid", () => {
  const guide = readFileSync(new URL("../../../docs/guides/playbooks.md", import.meta.url), "utf8");
  const examples = [...guide.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = ""]) => text);
  expect(examples.length).toBeGreaterThan(1);
  for (const text of examples) parsePlaybook(text, "playbooks.md");
});

function makeFile(content: string | Buffer): string {
  const path = join(folder, "bad.yaml");
  writeFileSync(path, content);
  return path;
}

function makePipe(): string {
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  return path;
}
