import { diagnose } from "../../../diagnose.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson } from "../printable.ts";
import { describeDiagnosis } from "../setup/describe-diagnosis.ts";
import { isPortFree } from "../setup/is-port-free.ts";
import { styleFor } from "../style.ts";

/** Where `mandate serve` listens. */
const usualPort = 4848;

export const doctorCommand: Command = {
  name: "doctor",
  usage: "[options]",
  about:
    "Says what Mandate finds on this machine: its own folder and database, configuration, models and\n" +
    "which variable to set for others, and what can be enforced here; with each problem, what to do\n" +
    "about it. Never prints a key. Exits 1 when something keeps it from working.",
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
    const [diagnosis, isFree] = await Promise.all([
      diagnose(io.environment, io.cwd),
      isPortFree(usualPort),
    ]);
    const found = { ...diagnosis, port: { number: usualPort, isFree } };
    const { configuration, database, models, node } = found;
    const isWell =
      node.isSupported && database.isUsable && configuration.isUsable && models.problem === null;
    io.stdout.write(
      given.flag("json")
        ? `${printableJson({ ok: isWell, ...found }, 2)}\n`
        : describeDiagnosis(found, styleFor(io.stdout, io), io.program),
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
