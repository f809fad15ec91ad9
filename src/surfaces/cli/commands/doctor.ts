import { type Diagnosis, diagnose } from "../../../diagnose.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { countOf } from "../amounts.ts";
import { type Command, jsonOption } from "../command.ts";
import { padEnd } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { type Style, styleFor } from "../style.ts";

export const doctorCommand: Command = {
  name: "doctor",
  usage: "[options]",
  about:
    "Says what Mandate finds on this machine: its own folder and database, configuration, models and\n" +
    "which variable to set for others, and what can be enforced here. Never prints a key. Exits 1 when\n" +
    "something keeps it from working.",
  options: {
    json: jsonOption,
    schema: {
      type: "text",
      value: "NAME",
      help: "print the JSON Schema for editors: mandate (the configuration) or profile",
    },
  },
  words: { least: 0, most: 0 },
  async run(given, io) {
    const schema = given.text("schema");
    if (schema !== undefined) return printSchema(schema, io);
    const found = await diagnose(io.environment, io.cwd);
    const isWell =
      found.node.isSupported && found.database.isUsable && found.configuration.isUsable;
    io.stdout.write(
      given.flag("json")
        ? `${printableJson({ ok: isWell, ...found }, 2)}\n`
        : describe(found, styleFor(io.stdout, io), io.program),
    );
    return isWell ? exitCode.done : exitCode.failed;
  },
};

async function printSchema(name: string, io: Io): Promise<number> {
  const { publishedSchemas } = await import("../../../control/published-schemas.ts");
  const schemas = publishedSchemas();
  const file = `${name}.schema.json`;
  const schema = Object.hasOwn(schemas, file) ? schemas[file] : undefined;
  if (schema === undefined) {
    const known = Object.keys(schemas).map((each) => each.replace(/\.schema\.json$/, ""));
    throw new MandateError("usage", `--schema takes ${known.join(" or ")}; it is "${name}".`);
  }
  io.stdout.write(`${printableJson(schema, 2)}\n`);
  return exitCode.done;
}

type Level = "good" | "missing" | "wrong";

function describe(found: Diagnosis, { paint, glyphs }: Style, program: string): string {
  const line = (level: Level, label: string, text: string) => {
    const mark = {
      good: paint.good(glyphs.done),
      missing: paint.dim(glyphs.queued),
      wrong: paint.bad(glyphs.failed),
    }[level];
    return `${mark} ${padEnd(label, 14)} ${printableLine(text)}`;
  };
  const { node, database, configuration, models, programs, enforcement } = found;
  const isScripted = models.default.startsWith("scripted/");
  return [
    paint.strong("Mandate"),
    line(
      node.isSupported ? "good" : "wrong",
      "node",
      node.isSupported ? node.version : `${node.version}: 22.18 or newer is needed`,
    ),
    line(database.isUsable ? "good" : "wrong", "home", found.home),
    line(database.isUsable ? "good" : "wrong", "database", aboutDatabase(database)),
    line(
      configuration.isUsable ? "good" : "wrong",
      "configuration",
      aboutConfiguration(configuration),
    ),
    "",
    paint.strong("Models"),
    line(
      isScripted ? "missing" : "good",
      "default",
      isScripted
        ? `${models.default}: not a language model; set a key below, or MANDATE_MODEL`
        : models.default,
    ),
    line(models.hasPrice ? "good" : "missing", "prices", aboutPrices(models)),
    ...models.providers.map(({ provider, isUsable, set }) =>
      line(isUsable ? "good" : "missing", provider, isUsable ? "configured" : `set ${set ?? ""}`),
    ),
    ...models.local.map((endpoint) => line("good", "running", aboutEndpoint(endpoint, models))),
    ...(models.local.length === 0 ? [line("missing", "running", "no local model server")] : []),
    "",
    paint.strong("Pools"),
    ...models.pools.map(({ pool, models: names, first }) =>
      line(first === null ? "missing" : "good", pool, first ?? `none of ${names.join(", ")}`),
    ),
    "",
    paint.strong("This machine"),
    ...Object.entries(programs).map(([name, path]) =>
      line(path === null ? "missing" : "good", name, path ?? "not found"),
    ),
    line("good", "files", enforcement.files),
    line(
      enforcement.shell.startsWith("in a sandbox") ? "good" : "missing",
      "shell",
      enforcement.shell,
    ),
    line(
      enforcement.copies.startsWith("children that write work") ? "good" : "missing",
      "copies",
      enforcement.copies,
    ),
    "",
    isScripted ? `Without a key: ${program} demo` : `Ready: ${program} run "…"`,
    "",
  ].join("\n");
}

function aboutDatabase({
  isUsable,
  path,
  problem,
  runs,
  schema,
  synchronous,
}: Diagnosis["database"]): string {
  if (!isUsable) return problem ?? "";
  const survives = synchronous === "full" ? "survives a power cut" : "survives a killed process";
  return `${path} (schema ${schema}, ${countOf(runs, "run")}; synchronous ${synchronous}: ${survives})`;
}

function aboutPrices({ default: model, hasPrice, pricesAsOf }: Diagnosis["models"]): string {
  const known = `as of ${pricesAsOf}; others under models.prices`;
  return hasPrice
    ? known
    : `${known}. ${model} has none: its cost counts as 0, and no cap on cost will stop it`;
}

/** With the line that makes it the one that answers, where it is not already. */
function aboutEndpoint(
  { provider, baseUrl, models: listed }: Diagnosis["models"]["local"][number],
  models: Diagnosis["models"],
): string {
  const name = listed.find((model) => !/embed/i.test(model));
  const what = `${provider} at ${baseUrl}, ${countOf(listed.length, "model")}`;
  if (name === undefined || models.default.startsWith(`${provider}/`)) return what;
  return `${what}. To use it: export MANDATE_MODEL=${provider}/${name}`;
}

function aboutConfiguration({ isUsable, problem, files }: Diagnosis["configuration"]): string {
  if (!isUsable) return problem ?? "";
  return files.length === 0
    ? "defaults (there is no mandate.yaml here or above)"
    : files.join(", ");
}
