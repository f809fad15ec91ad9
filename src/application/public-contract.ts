import type { Contract } from "../contracts/contract.ts";
import type { McpServer } from "../contracts/mcp-server.ts";
import { describeServer } from "../tools/mcp/describe-server.ts";

/** A contract for every reader: of servers only what they are, no configured value. */
export type PublicContract = Omit<Contract, "servers"> & {
  readonly servers?: Readonly<Record<string, string>>;
};

export function publicContract({ servers, ...contract }: Contract): PublicContract {
  return servers === undefined ? contract : { ...contract, servers: describeServers(servers) };
}

/** A declaration may contain a secret in plain text, in a header or an argument. */
export function describeServers(
  servers: Readonly<Record<string, McpServer>>,
): Readonly<Record<string, string>> {
  const told = Object.entries(servers).map(([name, server]) => [name, describeServer(server)]);
  return Object.fromEntries(told) as Readonly<Record<string, string>>;
}
