import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { headOf } from "../../text.ts";

export type Era = "legacy" | "modern";

export interface ClientAbilities {
  /** It can put a form before its person. */
  readonly elicits: boolean;
  readonly hasRoots: boolean;
}

/** By what the request says of its client (2026-07-28), or its handshake did (2025-11-25). */
export function abilitiesOf(server: Server, { mcpReq }: ServerContext): ClientAbilities {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const said = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  const { elicitation, roots } = said ?? server.getClientCapabilities() ?? {};
  // Before there were two modes, `{}` meant forms.
  const elicits = elicitation !== undefined && (elicitation.form ?? !elicitation.url) !== false;
  return { elicits, hasRoots: roots !== undefined };
}

const longestName = 100;

/** As it calls itself; shown to people in the run's name. */
export function clientNameOf(server: Server): string {
  const name = server.getClientVersion()?.name.replaceAll(/\p{C}/gu, "").trim() ?? "";
  return name === "" ? "unknown client" : headOf(name, longestName);
}
