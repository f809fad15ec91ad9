import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { describeProblem } from "../documents/describe-problem.ts";
import { readTextFile } from "../documents/read-text-file.ts";
import { parseYaml } from "../documents/read-yaml.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { ConfigLayer } from "./config-layer.ts";
import { type ConfigFile, configSchema } from "./config-schema.ts";

const maximumBytes = 1024 * 1024;
const code = "config-invalid";

/** One configuration file, checked as a whole. Throws a MandateError that names file and line. */
export function readConfigFile(file: string): ConfigLayer {
  const { value, lineOf } = parseYaml(readTextFile(file, { code, maximumBytes }), file, { code });
  // A file that says nothing, or only has comments.
  if (value === null) return { settings: {}, file, lineOf };
  const parsed = configSchema.safeParse(value);
  if (!parsed.success) {
    const message = describeProblem(parsed.error, { file, lineOf, schema: configSchema });
    throw new MandateError(code, message);
  }
  return { settings: withAbsoluteDirectory(parsed.data, file), file, lineOf };
}

/** A relative folder is meant from the file that names it, wherever the program was started. */
function withAbsoluteDirectory(settings: ConfigFile, file: string): ConfigFile {
  const { agents } = settings;
  const directory = agents?.delegation?.profiles?.directory;
  if (directory === undefined) return settings;
  const expanded = directory.replace(/^~(?=$|[\\/])/, homedir());
  const profiles = { directory: resolve(dirname(file), expanded) };
  return { ...settings, agents: { delegation: { ...agents?.delegation, profiles } } };
}
