import type { McpServer, ServerSandbox } from "../../contracts/mcp-server.ts";
import { redactSecrets } from "../../ports/redact-secrets.ts";
import { cleanLine, namesSecret } from "./clean-text.ts";

/**
 * A declaration in one line, for people: how the server is reached, the names of what it is given,
 * and no value that could be a secret, also where one was written into the file itself.
 */
export function describeServer(server: McpServer): string {
  const parts =
    server.kind === "stdio"
      ? [
          ["stdio:", plain(server.command), ...withoutSecrets(server.args ?? [])].join(" "),
          listed("env", given(server.env)),
          server.cwd === undefined ? "" : `in ${plain(server.cwd)}`,
          server.sandbox === undefined ? "" : aboutSandbox(server.sandbox),
        ]
      : [`http: ${withoutQuery(server.url)}`, listed("headers", given(server.headers))];
  if (server.tools !== undefined) parts.push(listed("tools", server.tools) || "no tools");
  if (server.sharing === "delegation") parts.push("one for each delegation");
  if (server.disabled) parts.push("disabled");
  return cleanLine(parts.filter((part) => part !== "").join("; "), 2000);
}

function aboutSandbox(sandbox: true | ServerSandbox): string {
  const { network = [], read = [] } = sandbox === true ? {} : sandbox;
  return ["in a sandbox", listed("reaches", network), listed("reads", read)]
    .filter((part) => part !== "")
    .join(", ");
}

function listed(what: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `${what} ${names.join(", ")}`;
}

/** Names, and the variables that their values come from: a person may be about to trust this. */
function given(values: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(values).map(([name, value]) => {
    const variables = [...value.matchAll(/\$\{(?:env:)?([^{}:]+)/g)].map(([, each]) => each);
    return variables.length === 0 ? name : `${name} (from ${variables.join(", ")})`;
  });
}

/** Variables stay, since they are names; what they fall back to may be anything. */
function plain(text: string): string {
  return redactSecrets(text.replaceAll(/(\$\{[^{}]*?):-[^}]*\}/g, "$1}"), []);
}

function withoutSecrets(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const [, flag] = /^(-{0,2}[\w.-]+)[=:]./.exec(arg) ?? [];
    if (flag !== undefined && namesSecret(flag) && !isVariable(arg.slice(flag.length + 1))) {
      return `${flag}=…`;
    }
    const before = args[index - 1] ?? "";
    const isValue = before.startsWith("-") && !before.includes("=") && !arg.startsWith("-");
    if (isValue && namesSecret(before) && !isVariable(arg)) return "…";
    return /^https?:\/\//.test(arg) ? withoutQuery(arg) : masked(plain(arg));
  });
}

function isVariable(text: string): boolean {
  return /^\$\{[^{}]*\}$/.test(text) && !text.includes(":-");
}

function withoutQuery(address: string): string {
  const [, scheme, rest] = /^(https?:\/\/)(?:[^/?#@]*@)?([^?#]*)/.exec(plain(address)) ?? [];
  if (scheme === undefined || rest === undefined) return masked(plain(address));
  return scheme + rest.split("/").map(masked).join("/");
}

/** Some services put the key into the path: long, and of letters and digits mixed. */
function masked(part: string): string {
  const isKeyLike = /^[A-Za-z0-9_~.-]{20,}$/.test(part) && /\d/.test(part) && /[A-Za-z]/.test(part);
  // Packages carry versions and host names dots; keys carry neither a dot nor an @.
  return isKeyLike && !part.includes(".") ? "…" : part;
}
