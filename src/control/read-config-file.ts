import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { decodeText } from "../documents/decode-text.ts";
import { describeProblem } from "../documents/describe-problem.ts";
import { readRegularFile } from "../documents/read-regular-file.ts";
import { parseYaml } from "../documents/read-yaml.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { ConfigLayer } from "./config-layer.ts";
import { type ConfigFile, configSchema } from "./config-schema.ts";

const maximumBytes = 1024 * 1024;
const code = "config-invalid";

/** One configuration file, checked as a whole. Throws a MandateError that names file and line. */
export function readConfigFile(file: string): ConfigLayer {
  const { value, lineOf } = parseYaml(readText(file), file, { code });
  // A file that says nothing, or only has comments.
  if (value === null) return { settings: {}, file, lineOf };
  const parsed = configSchema.safeParse(value);
  if (!parsed.success) {
    const message = describeProblem(parsed.error, { file, lineOf, schema: configSchema });
    throw new MandateError(code, message);
  }
  return { settings: withAbsoluteDirectory(parsed.data, file), file, lineOf };
}

function readText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readRegularFile(file, maximumBytes);
  } catch (cause) {
    const { code: systemCode, message } = cause as NodeJS.ErrnoException;
    const problem = systemCode === undefined ? message : `cannot be read (${systemCode})`;
    throw new MandateError(code, `${file}: ${problem}`, { cause });
  }
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw new MandateError(code, `${file}:1: ${decoded.problem}`);
  return decoded.text;
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
