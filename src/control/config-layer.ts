import type { YamlPath } from "../agents/documents/read-yaml.ts";
import type { PromptFiles } from "../agents/profiles/profile.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { ConfigFile } from "./config-schema.ts";

/** One source of settings: a file, or the environment and the flags together. */
export interface ConfigLayer {
  readonly settings: ConfigFile;
  /** Absent for settings that do not come from a file. */
  readonly file?: string;
  readonly lineOf?: (path: YamlPath) => number;
  /** It was merely found, in or above the folder where the program was started, and is trusted. */
  readonly isFound?: boolean;
  /** Of a found file: what the files that its profiles name for their prompts held then. */
  readonly promptFiles?: PromptFiles;
  /** What of it counts less than it says, or not at all, in sentences. */
  readonly notTaken?: readonly string[];
}

/** What is wrong with a setting once all layers are known, with its place if it has one. */
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
