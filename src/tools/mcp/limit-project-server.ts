import type { McpServer } from "../../contracts/mcp-server.ts";
import { headOf } from "../../text.ts";

export interface LimitedServer {
  readonly server: McpServer;
  /** What of it does not count, in sentences. */
  readonly notes: readonly string[];
}

/** Variables by which programs load code or find other programs, compared without case. */
const loaders = new RegExp(
  `^(?:${[
    "path|home|tmpdir|xdg_.*|shell|env|bash_env|ld_.*|dyld_.*|gconv_path",
    "node_.*|npm_.*|python.*|uv_.*|pip_.*|perl.*|ruby.*|gem_.*|bundle_.*|lua_.*|java_.*|_java_.*",
    "git_.*|ssh_askpass|editor|visual|pager|browser",
  ].join("|")})$`,
  "i",
);

/**
 * What counts of a server that a project's file declares. A person trusted that file's content, and
 * not what an agent writes into the workspace later: so the file does not choose the folder that a
 * program starts in, nor where that looks for code.
 */
export function limitProjectServer(server: McpServer): LimitedServer {
  if (server.kind !== "stdio") return { server, notes: [] };
  const { cwd, env, ...rest } = server;
  const names = Object.keys(env ?? {});
  const ignored = names.filter((name) => loaders.test(name));
  const kept = Object.entries(env ?? {}).filter(([name]) => !loaders.test(name));
  const notes = [
    ...(cwd === undefined ? [] : ["Its cwd is ignored"]),
    ...ignored.map((name) => `Its env.${headOf(name, 40)} is ignored`),
  ].map((what) => `${what}: ${why}`);
  return { server: { ...rest, ...(env && { env: Object.fromEntries(kept) }) }, notes };
}

const why =
  "a project's file does not say where a program starts or looks for code. Declare the server " +
  "under mcp.servers in your own configuration.";
