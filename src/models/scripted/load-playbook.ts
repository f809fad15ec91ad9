import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { describeProblem } from "../../agents/documents/describe-problem.ts";
import { parseYaml } from "../../agents/documents/read-yaml.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Playbook } from "./playbook.ts";
import { playbookSchema } from "./playbook-schema.ts";

const maximumBytes = 1_000_000;

/** Reads a playbook file, YAML or JSON. Nothing in it is evaluated. */
export async function loadPlaybook(path: string): Promise<Playbook> {
  return parsePlaybook(await readText(path), path);
}

/** Throws a MandateError "playbook-invalid" that names file, line and what is meant instead. */
export function parsePlaybook(text: string, path: string): Playbook {
  const { value, lineOf } = parseYaml(text, path, { code: "playbook-invalid" });
  const result = playbookSchema.safeParse(value);
  if (!result.success) {
    const source = { file: path, lineOf, schema: playbookSchema };
    throw new MandateError("playbook-invalid", describeProblem(result.error, source));
  }
  return { name: basename(path), ...result.data };
}

async function readText(path: string): Promise<string> {
  // Not blocking, and a plain file only: opening a pipe would otherwise wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: Error) =>
    refuse(path, `cannot be read: ${error.message}`, error),
  );
  try {
    const status = await file.stat();
    if (!status.isFile()) refuse(path, "is not a file");
    if (status.size > maximumBytes) refuse(path, "is larger than 1 MB");
    const bytes = await file.readFile();
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof MandateError) throw error;
    return refuse(path, "is not text in UTF-8", error);
  } finally {
    await file.close();
  }
}

function refuse(path: string, problem: string, cause?: unknown): never {
  throw new MandateError("playbook-invalid", `${path} ${problem}.`, { cause });
}
