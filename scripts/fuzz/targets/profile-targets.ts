import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";
import { readAgentFile } from "../../../src/agents/foreign/read-agent-file.ts";
import {
  parseMarkdownProfile,
  writeMarkdownProfile,
} from "../../../src/agents/profiles/profile-document.ts";
import { loadProfiles } from "../../../src/agents/profiles/profile-registry.ts";
import { FolderSource } from "../../../src/agents/profiles/profile-source.ts";
import { attempt } from "../expect-refusal.ts";
import { mutated } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";
import { TestFolder } from "../test-folder.ts";
import { agentWords, ownSeeds, publicSeeds } from "./agent-file-seeds.ts";

const good = "---\nname: good\ndescription: Good\ntools: [read_file]\n---\n\nBe good.\n";

export const agentFiles = defineTarget({
  name: "agent-files",
  surface: "profiles",
  promise: "whatever is in an agent file, it is answered, and what it defines reads the same again",
  cases: 400,
  open() {
    const folder = new TestFolder();
    const seeds = [...ownSeeds, ...publicSeeds()];
    const files = fc
      .constantFrom(...seeds)
      .chain(({ path, text }) =>
        fc.record({ path: fc.constant(path), bytes: mutated([text], agentWords) }),
      );
    return {
      inputs: files,
      check({ bytes, path }) {
        const name = path.split("/").slice(-3).join("/");
        const file = folder.write(name, bytes);
        const read = readAgentFile(file);
        assert.equal(read.file, file);
        if (read.status === "error")
          assert.ok(read.diagnostics.some((one) => one.severity === "error"));
        for (const { fields, name: agent } of read.agents) {
          const again = parseMarkdownProfile(writeMarkdownProfile(agent, fields), "again.md");
          assert.deepEqual(again, { name: agent, fields });
        }
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});

export const ownProfiles = defineTarget({
  name: "own-profiles",
  surface: "profiles",
  promise: "a profile of ours that is damaged is refused by file and line, or reads the same again",
  cases: 400,
  open() {
    const texts = [
      good,
      "---\nname: a\ndescription: D\ntools: []\nmayDelegate: { tools: [] }\nlimits:\n  turns: 3\n  tokens: 500\n---\nPrompt\n",
      "---\nname: a\ndescription: D\ntoolRules: [{ tool: shell, action: deny }]\nnetwork: [a.b]\nworkspace: { allowWrites: false }\n---\nPrompt\n",
      "---\nname: a\ndescription: D\nservers:\n  s: { command: x, args: [y] }\nexit: { tools: [complete_task] }\n---\n",
    ];
    return {
      inputs: mutated(texts, agentWords),
      async check(bytes) {
        const text = bytes.toString("utf8");
        const read = await attempt(
          () => parseMarkdownProfile(text, "some/a.md"),
          /^some\/a\.md:\d+/,
        );
        if ("refusal" in read) return;
        const { fields, name } = read.value;
        // Then the file's name is its name.
        if (name === undefined) return;
        assert.ok(/^[A-Za-z0-9][\w.-]*$/.test(name), `a name leads elsewhere: ${name}`);
        assert.deepEqual(
          parseMarkdownProfile(writeMarkdownProfile(name, fields), "b.md"),
          read.value,
        );
      },
    };
  },
});

type Oddity = "bytes" | "fifo" | "device" | "folder" | "dangling" | "loop" | "huge" | "outside";

export const profileFolders = defineTarget({
  name: "profile-folders",
  surface: "profiles",
  promise:
    "what cannot be read in a folder of profiles is a problem with its file, and the others load",
  cases: 60,
  open() {
    const folder = new TestFolder();
    const hidden = folder.write("outside.md", good.replace("name: good", "name: outside"));
    folder.write("agents/good.md", good);
    const odd: readonly Oddity[] = [
      ...(["bytes", "bytes", "bytes", "fifo", "device"] as const),
      ...(["folder", "dangling", "loop", "huge", "outside"] as const),
    ];
    const inputs = fc.record({
      kind: fc.constantFrom(...odd),
      file: fc.constantFrom(
        "bad.md",
        "a.b.md",
        "good.md.md",
        "Good.md",
        "x".repeat(200).concat(".md"),
        "bad.yaml",
        "bad.json",
      ),
      bytes: mutated([good, good.replace("good", "bad"), "{}", "name: bad\n"], agentWords),
    });
    return {
      inputs,
      check({ bytes, file, kind }) {
        const path = folder.at(`agents/${file}`);
        make(path, kind, bytes, hidden);
        try {
          const source = new FolderSource({ path: folder.at("agents"), origin: "user" } as never);
          const registry = loadProfiles({ sources: [source], recheckMs: 0 });
          const isTwice = /name: *["']?good/.test(bytes.toString("latin1"));
          if (!isTwice) assert.ok(registry.get("good"), registry.problems[0]?.message ?? "gone");
          for (const { message } of registry.problems)
            assert.ok(message.includes(folder.path), message);
          if (kind !== "bytes" && kind !== "outside") assert.deepEqual(registry.names(), ["good"]);
        } finally {
          rmSync(path, { recursive: true, force: true });
        }
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});

function make(path: string, kind: Oddity, bytes: Buffer, hidden: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (kind === "bytes") writeFileSync(path, bytes);
  else if (kind === "folder") mkdirSync(path);
  else if (kind === "fifo") execFileSync("mkfifo", [path]);
  else if (kind === "device") symlinkSync("/dev/zero", path);
  else if (kind === "dangling") symlinkSync("nothing", path);
  else if (kind === "loop") symlinkSync(path, path);
  else if (kind === "outside") symlinkSync(hidden, path);
  else {
    writeFileSync(path, bytes);
    truncateSync(path, 10 * 1024 * 1024);
  }
}
