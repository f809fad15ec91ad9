import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import fc, { type Arbitrary } from "fast-check";
import { parseYaml } from "../../../src/agents/documents/read-yaml.ts";
import { readPlanFile } from "../../../src/application/plan-files.ts";
import { loadConfig, settleConfig } from "../../../src/control/load-config.ts";
import { parsePlaybook } from "../../../src/models/scripted/load-playbook.ts";
import { attempt } from "../expect-refusal.ts";
import { nastyText } from "../hostile-text.ts";
import { mutated, mutatedText } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";
import { TestFolder } from "../test-folder.ts";

const configWords: readonly string[] = [
  ...[
    "agents:",
    "  delegation:",
    "    maxDepth: ",
    "tools:",
    "  shell:",
    "    unsandboxed: true\n",
  ],
  ...["network:", "  allow: ['*']\n", "models:", "  allow: []\n", "limits:", "  runTokens: ", "-1"],
  ...["&a [*a]", "*a", "<<: *a", "__proto__: {}\n", "!!binary x", "!!set {a}", "%YAML 1.1\n---\n"],
  ...["no", "1e999", ".nan", "0o17", "12_000", "? ", "{", "}", "---\n", "...\n", "\t", "mcp:\n"],
];

const configs: readonly string[] = [
  "agents:\n  delegation:\n    maxDepth: 2\n    maxConcurrent: 3\n    tokenBudget: { default: 5, max: 9 }\n",
  "tools:\n  shell: { enabled: true }\n  spawn:\n    enabled: true\n    explicit_tools: select\n",
  "models:\n  allow: [a/b]\n  pools: { fast: [a/b] }\n  prices:\n    a/b: { input: 1, output: 2 }\n",
  "limits:\n  runTokens: 1000\n  maxChildren: 4\nnetwork:\n  allow: [example.com]\n",
  "integration:\n  checks: [npm test]\n  approval: true\nask: { deadlineMs: 1000 }\n",
];

/** Documents that only YAML could make of a few characters. */
const yamlTricks: Arbitrary<string> = fc.oneof(
  fc.nat(40).map((levels) => {
    const lines = Array.from({ length: levels }, (_, level) =>
      level === 0 ? "a0: &a0 [x]" : `a${level}: &a${level} [${`*a${level - 1},`.repeat(9)}]`,
    );
    return `${lines.join("\n")}\n`;
  }),
  fc
    .tuple(fc.constantFrom("[", "{a: ", "- ", "? ", "a:\n ", "!x ", "&a "), fc.nat(20_000))
    .map(([piece, times]) => piece.repeat(times)),
  fc
    .array(fc.constantFrom(...configWords, "\n", " ", "  ", ": "), { maxLength: 30 })
    .map((parts) => parts.join("")),
  nastyText,
);

export const yamlDocuments = defineTarget({
  name: "yaml-documents",
  surface: "config",
  promise: "YAML is plain data with a line for everything, or a refusal with file and line",
  cases: 400,
  open: () => ({
    inputs: fc.oneof(mutatedText(configs, configWords), yamlTricks),
    async check(text: string) {
      const read = await attempt(() => parseYaml(text, "a.yaml"), /^a\.yaml:\d+: /);
      if ("refusal" in read) return;
      const { lineOf, value } = read.value;
      assert.deepEqual(JSON.parse(JSON.stringify(value)), value);
      assert.ok(!JSON.stringify(value).includes('"__proto__":'));
      const lines = text.split(/\r\n|\r|\n/).length;
      for (const key of Object.keys((value ?? {}) as object)) {
        const line = lineOf([key]);
        assert.ok(line >= 1 && line <= lines, `line ${line} of ${lines}`);
      }
    },
  }),
});

export const configFiles = defineTarget({
  name: "config-files",
  surface: "config",
  promise:
    "a mandate.yaml that was found is refused by file and line, or allows no more than the user's own",
  cases: 300,
  open() {
    const folder = new TestFolder();
    const own = folder.write(
      "config/mandate/config.yaml",
      "agents:\n  delegation:\n    maxDepth: 2\n    maxConcurrent: 3\n    tokenBudget: { default: 50, max: 90 }\nlimits: { runTokens: 100, maxChildren: 5 }\nnetwork: { allow: [example.com] }\nmodels: { allow: ['a/*'] }\ntools: { shell: { enabled: false }, spawn: { enabled: true, explicit_tools: select } }\nintegration: { checks: [npm test], approval: true }\n",
    );
    mkdirSync(folder.at("project"));
    const environment = {
      ...{
        HOME: folder.path,
        XDG_CONFIG_HOME: folder.at("config"),
        MANDATE_HOME: folder.at("home"),
      },
    };
    return {
      inputs: fc.oneof(
        mutated(configs, configWords),
        yamlTricks.map((text) => Buffer.from(text)),
      ),
      async check(bytes: Buffer) {
        const file = folder.write("project/mandate.yaml", bytes);
        const read = await attempt(
          async () => {
            const loaded = await loadConfig({ cwd: folder.at("project"), environment });
            assert.equal((await settleConfig(loaded, () => false)).config, loaded.own);
            return (await settleConfig(loaded, () => true)).config;
          },
          new RegExp(`${file}(:\\d+)?|${own}`),
        );
        if ("refusal" in read) {
          assert.equal(read.refusal.code, "config-invalid");
          return;
        }
        assertWithin(read.value as unknown as Readonly<Record<string, unknown>>);
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});

type Tree = Readonly<Record<string, unknown>>;

/** By the user's own file above. */
function assertWithin(config: Tree): void {
  const text = JSON.stringify(config);
  const { limits, network, tools } = config as Record<string, Tree>;
  const at = (tree: Tree | undefined, key: string): unknown => tree?.[key];
  for (const [key, most] of Object.entries({ runTokens: 100, maxChildren: 5 })) {
    assert.ok(Number(at(limits, key)) <= most, `${key}: ${text}`);
  }
  const { delegation } = (config as Record<string, Tree>)["agents"] as Record<string, Tree>;
  for (const [key, most] of Object.entries({ maxDepth: 2, maxConcurrent: 3 })) {
    assert.ok(Number(at(delegation, key)) <= most, `${key}: ${text}`);
  }
  const allow = at(network, "allow");
  assert.ok(Array.isArray(allow) && allow.every((host) => host === "example.com"), text);
  const shell = at(tools, "shell") as Tree | undefined;
  assert.notEqual(at(shell, "enabled"), true, text);
  assert.notEqual(at(shell, "unsandboxed"), true, text);
}

const plans: readonly string[] = [
  "goal: All\nsteps:\n  - title: One\n    description: Do one\n    profile: writer\n    owns: [src/**]\n  - title: Two\n    description: Do two\n    profile: writer\n    depends_on: [One]\n    review: true\n",
  '{"steps":[{"id":"a","title":"A","description":"x","profile":"writer","retries":2,"on_failure":"continue"},{"id":"b","title":"B","description":"y","profile":"@who","depends_on":["a"]}]}',
];

export const planFiles = defineTarget({
  name: "plan-files",
  surface: "config",
  promise: "a plan is refused with file, line and step, or every step waits only for others of it",
  cases: 300,
  open() {
    const folder = new TestFolder();
    const profile = { name: "writer", tools: "*", capabilities: ["subtask"] };
    const profiles = {
      get: (name: string) =>
        ["writer", "reviewer"].includes(name) ? { ...profile, name } : undefined,
      problemOf: () => undefined,
      offered: () => [profile],
    };
    const words = [
      "depends_on: [Two]\n",
      "owns: [../x]\n",
      "profile: nobody\n",
      "id: a\n",
      "retries: 9\n",
      "review: { profile: x }\n",
    ];
    return {
      inputs: mutated(plans, [...words, ...configWords]),
      async check(bytes: Buffer) {
        const file = folder.write("plan.yaml", bytes);
        const read = await attempt(
          () =>
            readPlanFile(file, {
              profiles: profiles as never,
              behind: () => "writer",
              maxChildren: 50,
            }),
          file,
        );
        if ("refusal" in read) {
          assert.equal(read.refusal.code, "plan-invalid");
          return;
        }
        const { plan, text, waves } = read.value;
        const places = waves.flat().sort((one, other) => one - other);
        assert.deepEqual(
          places,
          plan.steps.map((_step, place) => place),
        );
        assert.doesNotThrow(() => JSON.parse(text));
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});

const playbooks: readonly string[] = [
  'version: 1\nname: p\nreplies:\n  - when: { task: "a*" }\n    text: "Hello {{task}}"\n    calls:\n      - tool: read_file\n        input: { path: a }\n  - text: Done\n    latency_ms: 5\n',
  'version: 1\nname: p\nreplies:\n  - fault: rate-limited\n    retry_after_ms: 5\n  - text: "{{turn}}"\n',
];

export const playbookFiles = defineTarget({
  name: "playbooks",
  surface: "config",
  promise: "a playbook is refused with file and line, or it is one",
  cases: 200,
  open: () => ({
    inputs: mutatedText(playbooks, [
      "when:",
      "{{",
      "}}",
      "calls: ",
      "fault: hang\n",
      ...configWords,
    ]),
    async check(text: string) {
      const read = await attempt(() => parsePlaybook(text, "p.yaml"), /^p\.yaml:\d+/);
      if ("refusal" in read) assert.equal(read.refusal.code, "playbook-invalid");
    },
  }),
});
