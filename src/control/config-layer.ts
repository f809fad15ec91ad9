import type { YamlPath } from "../agents/documents/read-yaml.ts";
import type { PromptFiles } from "../agents/profiles/profile.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { ConfigFile } from "./config-schema.ts";

/** One source of settings: a file, or the environment and the flags. */
export interface ConfigLayer {
  readonly settings: ConfigFile;
  /** Absent for settings from the environment or a program. */
  readonly file?: string;
  readonly lineOf?: (path: YamlPath) => number;
  /** The file was found in or above the current folder, and is trusted. */
  readonly isFound?: boolean;
  /** The hashes of the prompt files of a found file's profiles. */
  readonly promptFiles?: PromptFiles;
  /** Sentences about settings that were reduced or ignored. */
  readonly notTaken?: readonly string[];
}

/** An error about a setting, with its file and line if it has them. */
export function layerProblem(
  layer: ConfigLayer | undefined,
  path: YamlPath,
  text: string,
): MandateError {
  const place = layer?.file === undefined ? "" : `${placeOf(layer, path)}: `;
  return new MandateError("config-invalid", place + text);
}

export function placeOf(layer: ConfigLayer, path: YamlPath): string {
  return `${layer.file ?? "settings"}:${layer.lineOf?.(path) ?? 1}`;
}
