import { readWholeFile } from "../../files.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { reasonOf } from "../../ports/message-of.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import { openFile } from "../../workspaces/open-file.ts";
import { PathDenied } from "../../workspaces/resolve-inside.ts";
import { decodeText } from "../documents/read-text-file.ts";
import type { Profile } from "./profile.ts";
import { defaultBootstrapFiles, maximumPromptFileBytes, promptFileHash } from "./profile-hash.ts";

export interface PromptRequest {
  readonly profile: Profile;
  readonly workspace: WorkspaceBinding | null;
  /** The inline prompt of the call; it replaces the prompt of the profile. */
  readonly systemPrompt?: string | undefined;
  /**
   * Whether the agent can call a tool; absent: it can call all. Decides which parts of the
   * profile's prompt are used.
   */
  readonly isOffered?: ((tool: string) => boolean) | undefined;
  /** Called with every file whose text becomes part of the prompt. */
  readonly onFile?: ((path: string) => void) | undefined;
}

/**
 * The system prompt of one delegation: bootstrap files, the profile's prompt file, the inline
 * prompt. It contains nothing of the parent's conversation. Files are read through the boundary of
 * the workspace. A named file that cannot be used is an error: an agent without its instructions is
 * not the agent that was asked for.
 */
export function assemblePrompt(request: PromptRequest): string {
  const { profile, workspace } = request;
  const stages: string[] = [];
  for (const file of profile.bootstrapFiles ?? defaultBootstrapFiles) {
    const isNamed = profile.bootstrapFiles !== undefined;
    const text = readStage(workspace, file, profile, isNamed);
    if (text === undefined) continue;
    request.onFile?.(file);
    stages.push(text);
  }
  if (profile.systemPromptFile !== undefined) {
    request.onFile?.(profile.systemPromptFile);
    stages.push(readStage(workspace, profile.systemPromptFile, profile, true) ?? "");
  }
  const inline = request.systemPrompt?.trim() ?? "";
  stages.push(
    inline === "" ? promptForTools(profile.prompt, request.isOffered ?? (() => true)) : inline,
  );
  const said = stages.map((stage) => stage.trim()).filter((stage) => stage !== "");
  return said.length === 0 ? fallbackPrompt : said.join("\n\n---\n\n");
}

/** For a delegation without a profile in a workspace without AGENTS.md. */
const fallbackPrompt =
  "You are a sub-agent. Carry out the task that you are given with the tools that you have, and answer with the result.";

function readStage(
  workspace: WorkspaceBinding | null,
  path: string,
  { name: profile, project }: Profile,
  isNamed: boolean,
): string | undefined {
  if (workspace === null) {
    if (!isNamed) return undefined;
    throw unusable(profile, path, "there is no workspace to read it from");
  }
  const bytes = readBytes(workspace, path, profile);
  if (bytes === undefined) {
    if (!isNamed) return undefined;
    throw unusable(profile, path, "it does not exist in the workspace");
  }
  const trusted = isNamed ? project?.files[path] : undefined;
  if (trusted !== undefined && trusted !== promptFileHash(bytes)) {
    const problem =
      "it is not what was trusted with the profile; look at it, and trust the profile again";
    throw new MandateError("refused-by-policy", sentence(profile, path, problem));
  }
  const decoded = decodeText(bytes);
  if ("problem" in decoded) throw unusable(profile, path, decoded.problem);
  return decoded.text;
}

/** Undefined when the file does not exist. */
function readBytes(workspace: WorkspaceBinding, path: string, profile: string) {
  try {
    const file = openFile(workspace, path);
    try {
      const bytes = readWholeFile(file.descriptor, maximumPromptFileBytes);
      if (bytes !== null) return bytes;
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof PathDenied) throw unusable(profile, path, error.message, error);
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw unusable(profile, path, `it cannot be read: ${reasonOf(error)}`, error);
  }
  throw unusable(
    profile,
    path,
    "it is larger than 64 KB; shorten it or name other bootstrap files",
  );
}

function unusable(profile: string, path: string, problem: string, cause?: unknown): MandateError {
  const code = cause instanceof PathDenied ? "refused-by-policy" : "profile-invalid";
  const message = sentence(profile, path, problem);
  return new MandateError(code, message, cause === undefined ? undefined : { cause });
}

function sentence(profile: string, path: string, problem: string): string {
  return `The prompt of "${profile}" needs the file "${path}": ${problem}`;
}

const beginning = /^<!-- with ([\w, ]+) -->[ \t]*$/;
const end = /^<!-- end -->[ \t]*$/;

/**
 * The prompt for an agent with certain tools: lines between `<!-- with NAME, … -->` and `<!-- end
 * -->` stay when all of these tools are offered. A prompt must not mention a tool that the
 * contract, the operator or the machine withholds.
 * @example
 * promptForTools("Look.\n<!-- with shell -->\nRun the tests.\n<!-- end -->", () => false); //
 * "Look."
 */
export function promptForTools(prompt: string, isOffered: (tool: string) => boolean): string {
  if (!prompt.includes("<!-- with ")) return prompt;
  const said: string[] = [];
  let block: { readonly names: string; readonly at: number } | null = null;
  for (const line of prompt.split("\n")) {
    const names: string | undefined = block === null ? beginning.exec(line)?.[1] : undefined;
    if (names !== undefined) block = { names, at: said.length };
    if (block === null || !end.test(line)) {
      // Blank lines before and after a removed block become one blank line.
      if (line !== "" || said.at(-1) !== "") said.push(line);
      continue;
    }
    const [, ...lines] = said.splice(block.at);
    const isWanted = block.names.split(",").every((name) => isOffered(name.trim()));
    if (isWanted) said.push(...lines);
    block = null;
  }
  return said.join("\n");
}
