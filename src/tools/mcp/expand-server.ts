import { isAbsolute, relative, resolve } from "node:path";
import type { HttpServer, McpServer, StdioServer } from "../../contracts/mcp-server.ts";
import type { Selection } from "../../contracts/selection.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Redact } from "../../ports/redact-secrets.ts";
import { headOf } from "../../text.ts";
import { isNeeded, scrubEnvironment } from "../../workspaces/processes/program-environment.ts";
import { hideValues, namesSecret } from "./clean-text.ts";

/** A server as it is started: all variables have their values, so it is never shown or stored. */
export type ExpandedServer = (ExpandedStdio | ExpandedHttp) & {
  readonly hidden: HiddenValues;
};

export interface ExpandedStdio {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder that the person's own configuration names; null: an empty private one. */
  readonly cwd: string | null;
  /** The person's own configuration declares it, or the program that uses the library. */
  readonly isOwn: boolean;
  /** The folders in which the server's command is looked up. */
  readonly searchPath: string | undefined;
  /** Absent: it runs with the rights of the person. */
  readonly sandbox?: ExpandedSandbox;
}

interface ExpandedSandbox {
  /** A host must be in both: those of the declaration and those of the contract. */
  readonly grants: readonly Selection[];
  /** The paths that the server can read beside its own folder. */
  readonly visible: readonly string[];
}

interface ExpandedHttp {
  readonly kind: "http";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Functions that hide values of the server's declaration in texts. */
interface HiddenValues {
  /** Everything declared or taken from the environment. */
  readonly inErrors: Redact;
  /** Removes values that are secret by their name: results may contain folders and other plain values. */
  readonly inResults: Redact;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface ExpansionScope {
  readonly environment: Environment;
  readonly workspace: string | null;
  readonly isOwn: boolean;
  /** The hosts that the contract grants; absent: none. */
  readonly network?: Selection;
}

/** Throws `MandateError` with a sentence that names the field and the variable, never a value. */
export function expandServer(server: McpServer, scope: ExpansionScope): ExpandedServer {
  const { environment, workspace, isOwn, network = [] } = scope;
  const values = new Set<string>();
  const secrets = new Set<string>();
  let namesWorkspace = false;
  const source: VariableSource = {
    environment,
    workspace,
    onWorkspace() {
      namesWorkspace = true;
    },
    onUse(name, value) {
      if (!isNeeded(name)) values.add(value);
      if (namesSecret(name)) secrets.add(value);
    },
  };
  const expanded =
    server.kind === "stdio" ? expandStdio(server, source, isOwn) : expandHttp(server, source);
  if (expanded.kind === "stdio") {
    for (const name of Object.keys(server.kind === "stdio" ? (server.env ?? {}) : {})) {
      const value = expanded.env[name] ?? "";
      values.add(value);
      if (namesSecret(name)) secrets.add(value);
    }
  } else {
    for (const value of Object.values(expanded.headers)) {
      values.add(value);
      secrets.add(value);
    }
  }
  if (expanded.kind === "stdio" && server.kind === "stdio" && server.sandbox !== undefined) {
    const declared = server.sandbox === true ? {} : server.sandbox;
    const visible = [...(declared.read ?? []), ...(namesWorkspace && workspace ? [workspace] : [])];
    const sandbox = { grants: [declared.network ?? [], network], visible };
    return { ...expanded, sandbox, hidden: hiddenOf(values, secrets) };
  }
  return { ...expanded, hidden: hiddenOf(values, secrets) };
}

function hiddenOf(values: ReadonlySet<string>, secrets: ReadonlySet<string>): HiddenValues {
  return { inErrors: hideValues(values), inResults: hideValues(secrets, 8) };
}

function expandStdio(server: StdioServer, source: VariableSource, isOwn: boolean): ExpandedStdio {
  const env = scrubEnvironment(source.environment);
  for (const [name, value] of Object.entries(server.env ?? {})) {
    if (name === "" || name === "__proto__" || /[=\0]/.test(name)) {
      throw problem(`${JSON.stringify(name)} cannot be the name of a variable.`);
    }
    env[name] = checked(expandVariables(value, `env.${name}`, source), `env.${name}`);
  }
  const command = checked(expandVariables(server.command, "command", source), "command");
  if (command.trim() === "") throw problem("Its command is empty.");
  const args = (server.args ?? []).map((arg, index) =>
    checked(expandVariables(arg, `args[${index}]`, source), `args[${index}]`),
  );
  const cwd = folderOf(server, source);
  const hasPath = Object.hasOwn(server.env ?? {}, "PATH");
  const searchPath = hasPath ? env["PATH"] : source.environment["PATH"];
  return { kind: "stdio", command, args, env, cwd, isOwn, searchPath };
}

function folderOf(server: StdioServer, source: VariableSource): string | null {
  const { workspace } = source;
  if (server.cwd === undefined) return null;
  const cwd = checked(expandVariables(server.cwd, "cwd", source), "cwd");
  if (isAbsolute(cwd)) return cwd;
  if (workspace === null) {
    throw problem("Its cwd is relative, and this delegation has no workspace.");
  }
  const folder = resolve(workspace, cwd);
  const below = relative(workspace, folder);
  if (isAbsolute(below) || /^\.\.(?:$|[\\/])/.test(below)) {
    throw problem("Its cwd is outside the workspace. Name a folder below it, or an absolute one.");
  }
  return folder;
}

function expandHttp(server: HttpServer, source: VariableSource): ExpandedHttp {
  const written = expandVariables(server.url, "url", source);
  const url = URL.canParse(written) ? new URL(written) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw problem("Its url is not an address that begins with http:// or https://.");
  }
  if (url.username !== "" || url.password !== "") {
    throw problem("Its url holds a name or password. Put it into a header, as a variable.");
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(server.headers ?? {})) {
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || name === "__proto__") {
      throw problem(`${JSON.stringify(name)} cannot be the name of a header.`);
    }
    const expanded = expandVariables(value, `headers.${name}`, source).trim();
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(expanded)) {
      throw problem(`Its headers.${name} holds a character that headers cannot hold.`);
    }
    headers[name] = expanded;
  }
  return { kind: "http", url: url.href, headers };
}

/** A NUL would end the text early for the system, and Node quotes the whole value when it objects. */
function checked(value: string, field: string): string {
  if (value.includes("\0")) throw problem(`Its ${field} holds a NUL character.`);
  return value;
}

function problem(says: string): MandateError {
  return new MandateError("config-invalid", says);
}

interface VariableSource {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workspace: string | null;
  /** Told when the declaration names the workspace. */
  onWorkspace?(): void;
  /** Told of every value that came out of the environment, so that it can be kept out of texts. */
  onUse?(name: string, value: string): void;
}

const environmentForm = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const folderName = "workspaceFolder";

/**
 * Puts values in place of `${NAME}`, `${env:NAME}`, `${NAME:-default}` and `${workspaceFolder}`.
 * One pass: a value that itself looks like a variable stays as it is. What has no value is an
 * error, since an empty key or path means something else to most servers.
 */
function expandVariables(text: string, field: string, source: VariableSource): string {
  let expanded = "";
  let at = 0;
  for (;;) {
    const start = text.indexOf("${", at);
    if (start < 0) return expanded + text.slice(at);
    const end = text.indexOf("}", start);
    const inner = end < 0 ? text.slice(start + 2) : text.slice(start + 2, end);
    if (end < 0 || inner.includes("${")) {
      throw fieldProblem(
        field,
        "holds a variable that is not closed or stands inside another one.",
      );
    }
    expanded += text.slice(at, start) + readVariable(inner, field, source);
    at = end + 1;
  }
}

function readVariable(inner: string, field: string, source: VariableSource): string {
  if (inner === folderName) {
    source.onWorkspace?.();
    if (source.workspace !== null) return source.workspace;
    throw fieldProblem(field, `uses \${${folderName}}, and this delegation has no workspace.`);
  }
  const [, name, fallback] = environmentForm.exec(inner) ?? [];
  if (name === undefined) {
    const shown = headOf(inner, 80);
    throw fieldProblem(
      field,
      `uses \${${shown}}, which is not known here. Use \${NAME} of a variable.`,
    );
  }
  const value = Object.hasOwn(source.environment, name) ? source.environment[name] : undefined;
  // An empty variable counts as not set, as in a shell.
  if (value !== undefined && value !== "") {
    source.onUse?.(name, value);
    return value;
  }
  if (fallback !== undefined) return fallback;
  throw fieldProblem(
    field,
    `uses \${${name}}, which is not set. Set it, or write \${${name}:-…} with a default.`,
  );
}

function fieldProblem(field: string, says: string): MandateError {
  return new MandateError("config-invalid", `Its ${field} ${says}`);
}
