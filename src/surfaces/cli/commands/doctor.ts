import { createServer } from "node:net";
import { type AgentFinding, lookAtAgents } from "../../../application/programs/look-at-agents.ts";
import { type Config, defaultConfig } from "../../../control/config.ts";
import { loadConfig } from "../../../control/load-config.ts";
import { type Diagnosis, diagnose } from "../../../diagnose.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { countOf } from "../amounts.ts";
import { type Command, flag, jsonOption, text } from "../command.ts";
import { padEnd } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine, printJson } from "../printable.ts";
import { type Style, styleFor } from "../style.ts";

/** Where `mandate serve` listens. */
const usualPort = 4848;

export const doctorCommand: Command = {
  name: "doctor",
  usage: "[options]",
  about:
    "Shows what Mandate finds on this machine: its home and database, configuration, models and the\n" +
    "variables that enable others, and what can be enforced here; with each problem, how to fix it.\n" +
    "Asks no model unless --ping is given. Never prints a key. Exits 1 when a problem keeps Mandate\n" +
    "from working.",
  options: {
    json: jsonOption,
    ping: flag("ask the default model for one word, and say what is wrong if it does not answer"),
    schema: text(
      "NAME",
      "print the JSON Schema for editors: mandate (the configuration) or profile",
    ),
  },
  async run(given, io) {
    const schema = given.text("schema");
    if (schema !== undefined) return printSchema(schema, io);
    const [diagnosis, isFree] = await Promise.all([
      diagnose(io.environment, io.cwd, { ping: given.flag("ping") }),
      isPortFree(usualPort),
    ]);
    const agents = lookAtAgents({
      environment: io.environment,
      config: await configOf(io),
      providers: diagnosis.models.providers,
    });
    const found = { ...diagnosis, agents, port: { number: usualPort, isFree } };
    const { configuration, database, engine, models, node, ping } = found;
    const isWell =
      node.isSupported &&
      database.isUsable &&
      engine?.isUsable !== false &&
      configuration.isUsable &&
      models.problem === null &&
      ping?.isAnswered !== false;
    io.stdout.write(
      given.flag("json")
        ? `${printableJson({ ok: isWell, ...found }, 2)}\n`
        : describeDiagnosis(found, styleFor(io.stdout, io), io.program),
    );
    return isWell ? exitCode.done : exitCode.failed;
  },
};

async function printSchema(name: string, io: Io): Promise<number> {
  const { publishedSchemas } = await import("../../../control/config-schema.ts");
  const schemas = publishedSchemas();
  const file = `${name}.schema.json`;
  const schema = Object.hasOwn(schemas, file) ? schemas[file] : undefined;
  if (schema === undefined) {
    const known = Object.keys(schemas).map((each) => each.replace(/\.schema\.json$/, ""));
    throw new MandateError("usage", `--schema takes ${known.join(" or ")}; it is "${name}".`);
  }
  printJson(io, schema);
  return exitCode.done;
}

/** Providers of one's own count; a file with mistakes is a finding of its own. */
function configOf({ cwd, environment }: Io): Promise<Pick<Config, "models">> {
  return loadConfig({ cwd, environment }).then(
    ({ own }) => own,
    () => defaultConfig,
  );
}

export interface Findings extends Diagnosis {
  readonly agents: readonly AgentFinding[];
  readonly port: { readonly number: number; readonly isFree: boolean };
}

/** `missing`: Mandate works without it. `wrong`: it does not. Both say what to do. */
type Level = "good" | "missing" | "wrong";
type Row = readonly [level: Level, label: string, text: string];

/** The findings, a line for each, and at the end the next step. */
export function describeDiagnosis(found: Findings, style: Style, program: string): string {
  const groups: readonly (readonly [string, readonly Row[]])[] = [
    ["Mandate", aboutItself(found, program)],
    ...(found.server === null && found.engine === null
      ? []
      : [["Fleet", aboutFleet(found, program)] as const]),
    ["Models", aboutModels(found, program)],
    ["Pools", aboutPools(found)],
    ["This machine", aboutMachine(found, program)],
    ["Agent programs", found.agents.map((agent) => aboutAgent(agent, program))],
  ];
  const { glyphs, paint } = style;
  const marks = {
    good: paint.good(glyphs.done),
    missing: paint.dim(glyphs.queued),
    wrong: paint.bad(glyphs.failed),
  };
  const rows = groups.flatMap(([, each]) => each);
  const wrong = rows.filter(([level]) => level === "wrong").map(([, label]) => label);
  return [
    ...groups.flatMap(([title, each]) => [
      paint.strong(title),
      // A problem may have several lines, one for each error in a file.
      ...each.map(([level, label, text]) => {
        const lines = text.split("\n").map(printableLine);
        return `${marks[level]} ${padEnd(label, 14)} ${lines.join(`\n${" ".repeat(17)}`)}`;
      }),
      "",
    ]),
    whatNext(found, wrong, program),
    "",
  ].join("\n");
}

function whatNext({ models }: Findings, wrong: readonly string[], program: string): string {
  if (wrong.length > 0) return `Fix: ${wrong.join(", ")} (see above). Then: ${program} doctor`;
  return isWithoutModel(models) ? `Without a model: ${program} demo` : `Ready: ${program} run "…"`;
}

function aboutItself(
  { configuration, database, exposed, home, node, server }: Findings,
  program: string,
): Row[] {
  const { isUsable, path, problem, runs, schema, synchronous } = database;
  const survives = synchronous === "full" ? "survives a power cut" : "survives a killed process";
  return [
    node.isSupported
      ? ["good", "node", node.version]
      : [
          "wrong",
          "node",
          `${node.version}: 22.18 or newer is needed. Install Node 24 (nodejs.org)`,
        ],
    [isUsable ? "good" : "wrong", "home", home],
    ...exposed.map(
      ({ fix, mode, path }): Row => [
        "missing",
        "privacy",
        `Other users of this machine can reach ${path} (mode ${mode}). Close it: ${fix}`,
      ],
    ),
    isUsable
      ? [
          "good",
          "database",
          `${path} (schema ${schema}, ${countOf(runs, "run")}${server === null ? `; synchronous ${synchronous}: ${survives}` : ""})`,
        ]
      : ["wrong", "database", problem ?? ""],
    configuration.isUsable
      ? [
          "good",
          "configuration",
          [
            configuration.files.join(", ") ||
              "defaults (no file of yours, and no trusted mandate.yaml here or above)",
            ...configuration.notTaken,
            ...configuration.waiting.map(
              (file) =>
                `${file} has no effect: it is not trusted as it is now. Look at it, then: ${program} profiles trust ${file}`,
            ),
          ].join("\n"),
        ]
      : [
          "wrong",
          "configuration",
          `${configuration.problem ?? ""}\nUntil that is fixed, nothing starts here. All keys: docs/reference/configuration.md, or ${program} doctor --schema mandate`,
        ],
  ];
}

/** How much of the server's connections may be in use before it is worth a line of warning. */
const manyConnections = 0.8;

function aboutFleet({ engine, server }: Findings, program: string): Row[] {
  return [...(server === null ? [] : aboutServer(server)), ...aboutEngine(engine, program)];
}

function aboutServer(server: NonNullable<Findings["server"]>): Row[] {
  const { connections, fsync, knownSchema, maxConnections, schema, synchronousCommit } = server;
  const isDurable = fsync === "on" && synchronousCommit !== "off";
  const settings = `synchronous_commit ${synchronousCommit}, fsync ${fsync}`;
  const used = `${connections} of ${maxConnections} connections in use`;
  return [
    ["good", "postgres", `${server.version}, ${server.isEncrypted ? "with" : "without"} TLS`],
    isDurable
      ? ["good", "durability", `${settings}: what is acknowledged survives a power cut`]
      : [
          "missing",
          "durability",
          `${settings}: a power cut can lose what was acknowledged. Set both to on in postgresql.conf`,
        ],
    connections < maxConnections * manyConnections
      ? ["good", "connections", used]
      : ["missing", "connections", `${used}: raise max_connections, or run fewer processes`],
    ...(schema === knownSchema
      ? []
      : [
          [
            "missing",
            "migration",
            `the schema was at ${schema} of ${knownSchema}: the first process of this version has migrated it`,
          ] as const,
        ]),
  ];
}

function aboutEngine(engine: Findings["engine"], program: string): Row[] {
  if (engine === null) return [];
  const { idle, isUsable, problem = "", stopped, versions, waiting, workers } = engine;
  if (!isUsable) return [["wrong", "engine", problem]];
  const wait = `${countOf(waiting, "delegation")} waiting`;
  return [
    workers === 0
      ? ["missing", "workers", `none is alive, ${wait}. Start one: ${program} worker`]
      : ["good", "workers", `${workers} alive (version ${versions.join(", ")}), ${wait}`],
    // Without any worker, the line above already says that the queues wait.
    ...(workers === 0 ? [] : idle).map(
      ({ queue, waiting: waits }): Row => [
        "missing",
        `queue ${queue}`,
        `${countOf(waits, "delegation")} waiting, none at work. If that lasts, no worker takes work from it: ${program} worker --queues ${queue}`,
      ],
    ),
    ...stopped.map((scope): Row => {
      const [kind = "", name = ""] = scope.split("/");
      const command = kind === "queue" ? "queues" : "workers";
      const state = kind === "queue" ? "paused" : "drained";
      return [
        "missing",
        "stopped",
        `${kind} ${name} is ${state}. To resume: ${program} ${command} resume ${name}`,
      ];
    }),
  ];
}

function isWithoutModel({ default: name }: Findings["models"]): boolean {
  return name === null || name.startsWith("scripted/");
}

function aboutDefault({ default: name, problem }: Findings["models"]): Row {
  const set = "set a key below, or MANDATE_MODEL";
  if (name === null) return ["missing", "default", `none, so no work can start: ${set}`];
  if (problem !== null) return ["wrong", "default", `${name} cannot answer: ${problem}`];
  if (!name.startsWith("scripted/")) return ["good", "default", name];
  return ["missing", "default", `${name}: not a language model; ${set}`];
}

/** A key that is set may be wrong: only an answer shows that it is not. */
function aboutPing({ models, ping }: Findings, program: string): Row[] {
  if (isWithoutModel(models) || models.problem !== null) return [];
  if (ping === null) return [["missing", "ping", `not asked. Ask it: ${program} doctor --ping`]];
  const seconds = (ping.ms / 1000).toFixed(1);
  if (!ping.isAnswered) return [["wrong", "ping", ping.problem]];
  const by = ping.served === null ? "" : ` by ${ping.served}`;
  return [["good", "ping", `answered${by} in ${seconds} s`]];
}

function aboutModels(found: Findings, program: string): Row[] {
  const { models } = found;
  const known = `as of ${models.pricesAsOf}; others under models.prices`;
  return [
    aboutDefault(models),
    ...aboutPing(found, program),
    models.hasPrice || isWithoutModel(models)
      ? ["good", "prices", known]
      : [
          "missing",
          "prices",
          `${known}. The price of ${models.default} is not known: its cost is shown as $0, and a run with a cost cap refuses it. Set models.prices; { input: 0, output: 0 } if it costs nothing`,
        ],
    ...models.providers.map(aboutProvider),
    ...models.local.map((endpoint): Row => ["good", "running", aboutEndpoint(endpoint, models)]),
    ...(models.local.length === 0
      ? [
          [
            "missing",
            "running",
            "no local model server. Start Ollama (127.0.0.1:11434) or LM Studio's (127.0.0.1:1234) to use one without a key",
          ] as const,
        ]
      : []),
  ];
}

function aboutProvider({
  isUsable,
  provider,
  set = "",
}: Diagnosis["models"]["providers"][number]): Row {
  if (isUsable) return ["good", provider, "configured"];
  // A variable that is set and cannot be used is described in a sentence.
  if (!/^[A-Z][A-Z0-9_]*( or [A-Z][A-Z0-9_]*)*$/.test(set)) return ["missing", provider, set];
  const isAddress = /_(HOST|URL)$/.test(set);
  return [
    "missing",
    provider,
    isAddress ? `start it on this machine, or set ${set}` : `set ${set}`,
  ];
}

/** With the line that makes it the default, where it is not already. */
function aboutEndpoint(
  endpoint: Diagnosis["models"]["local"][number],
  models: Diagnosis["models"],
): string {
  const { baseUrl, models: listed, provider } = endpoint;
  const what = `${provider} at ${baseUrl}, ${countOf(listed.length, "model")}`;
  if (models.default?.startsWith(`${provider}/`) && models.problem === null) return what;
  const name = suggestLocalModel(endpoint);
  if (name !== undefined) return `${what}. To use it: export MANDATE_MODEL=${name}`;
  return `${what}. Give it one that can talk${provider === "ollama" ? ": ollama pull qwen3" : ""}`;
}

function aboutPools({ models }: Findings): Row[] {
  return models.pools.map(({ first, models: names, pool }) =>
    first === null
      ? ["missing", pool, `none of ${names.join(", ")}: set the key of one of them`]
      : ["good", pool, first],
  );
}

/** What each missing program is for, and how to install it. */
const withoutProgram: Readonly<Record<string, string>> = {
  git: "not found: install git 2.38 or newer (git-scm.com). Children that write need it",
  ripgrep: "not found: searching works without it, more slowly. Install ripgrep",
  bubblewrap:
    "not found: agents have no shell without it. On Linux: apt install bubblewrap (or dnf, pacman, apk)",
};

function aboutMachine({ enforcement, port, programs }: Findings, program: string): Row[] {
  const { copies, files, shell } = enforcement;
  return [
    ...Object.entries(programs).map(([name, path]): Row => {
      if (path !== null) return ["good", name, path];
      // The sandbox is looked for in the system's folders as well.
      const isElsewhere = name === "bubblewrap" && shell.startsWith("in a sandbox");
      if (isElsewhere) return ["good", name, "found, though not in PATH"];
      return ["missing", name, withoutProgram[name] ?? "not found"];
    }),
    ["good", "files", files],
    [shell.startsWith("in a sandbox") ? "good" : "missing", "shell", shell],
    [copies.startsWith("children that write work") ? "good" : "missing", "copies", copies],
    port.isFree
      ? ["good", "port", `${port.number} is free for ${program} serve`]
      : [
          "missing",
          "port",
          `${port.number} is in use. If by Mandate: ${program} serve --link opens its dashboard. If not: ${program} serve --port 0 uses another`,
        ],
  ];
}

/** An agent program of others: whether it can work under a contract, and what to do. */
function aboutAgent(
  { agent, hasLogin, path, problem, provider, set, title, version }: AgentFinding,
  program: string,
): Row {
  if (path === null) return ["missing", agent, problem ?? "not installed"];
  const what = `${title} ${version ?? "(it does not say its version)"}`;
  if (problem !== null) return ["missing", agent, `${what}: ${problem}`];
  const own = hasLogin
    ? `Your login of it can be used as well (login: own): its tokens and dollars are then not enforced`
    : "";
  if (provider === null) {
    const missing = `${what}: no key for models that it can ask: ${set ?? "configure a provider"}`;
    return ["missing", agent, [missing, own].filter((line) => line !== "").join("\n")];
  }
  const held = `${what}, in the sandbox, its models (${provider}) through the gateway: ${program} run --agent ${agent} --max-cost 2 "…"`;
  return ["good", agent, [held, own].filter((line) => line !== "").join("\n")];
}

/** Whether this port of this machine is free. */
export function isPortFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  return promise;
}

type LocalEndpoint = Diagnosis["models"]["local"][number];

/** The models of a local server that can talk, as `provider/model`. */
export function talkingModels({ models, provider }: LocalEndpoint): readonly string[] {
  return models
    .filter((model) => !/embed|rerank|whisper/i.test(model))
    .map((model) => `${provider}/${model}`);
}

/** The first model of a local server that can hold a conversation. */
export function suggestLocalModel(endpoint: LocalEndpoint): string | undefined {
  return talkingModels(endpoint)[0];
}
