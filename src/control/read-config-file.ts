import { dirname, resolve } from "node:path";
import { describeProblem, type ProblemSource } from "../agents/documents/describe-problem.ts";
import { decodeText, readTextFile } from "../agents/documents/read-text-file.ts";
import { parseYaml } from "../agents/documents/read-yaml.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { ConfigLayer } from "./config-layer.ts";
import { type ConfigFile, configSchema } from "./config-schema.ts";

export const maximumConfigBytes = 1024 * 1024;
const code = "config-invalid";

/** One configuration file, checked as a whole. Throws a MandateError that names file and line. */
export function readConfigFile(file: string, userHome: string): ConfigLayer {
  const text = readTextFile(file, { code, maximumBytes: maximumConfigBytes });
  return parseText(text, file, userHome);
}

/** The same from bytes that were read already. */
export function parseConfig(bytes: Uint8Array, file: string, userHome: string): ConfigLayer {
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw new MandateError(code, `${file}:1: ${decoded.problem}`);
  return parseText(decoded.text, file, userHome);
}

function parseText(text: string, file: string, userHome: string): ConfigLayer {
  const { value, lineOf } = parseYaml(text, file, { code });
  // A file that says nothing, or only has comments.
  if (value === null) return { settings: {}, file, lineOf };
  const settings = parseSettings(value, { file, lineOf });
  return { settings: withAbsoluteDirectory(settings, dirname(file), userHome), file, lineOf };
}

/** The same as data, as a program gives it; a relative folder is meant from `cwd`. */
export function readConfigValue(value: unknown, cwd: string, userHome: string): ConfigLayer {
  const settings = parseSettings(value, { file: "config" });
  return { settings: withAbsoluteDirectory(settings, cwd, userHome) };
}

function parseSettings(value: unknown, source: Omit<ProblemSource, "schema">): ConfigFile {
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MandateError(code, describeProblem(parsed.error, { ...source, schema: configSchema }));
}

/** A relative folder is meant from the file that names it, wherever the program was started. */
function withAbsoluteDirectory(settings: ConfigFile, base: string, userHome: string): ConfigFile {
  const { agents } = settings;
  const directory = agents?.delegation?.profiles?.directory;
  if (directory === undefined) return settings;
  const expanded = directory.replace(/^~(?=$|[\\/])/, () => userHome);
  const profiles = { directory: resolve(base, expanded) };
  return { ...settings, agents: { delegation: { ...agents?.delegation, profiles } } };
}
