import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { headOf } from "../../text.ts";

export type Era = "legacy" | "modern";

export interface ClientAbilities {
  /** Whether the client can show forms to its user. */
  readonly elicits: boolean;
  readonly hasRoots: boolean;
}

/** From the request itself (2026-07-28) or from the handshake (2025-11-25). */
export function abilitiesOf(server: Server, { mcpReq }: ServerContext): ClientAbilities {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const said = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  const { elicitation, roots } = said ?? server.getClientCapabilities() ?? {};
  // In older versions without modes, `{}` means forms.
  const elicits = elicitation !== undefined && (elicitation.form ?? !elicitation.url) !== false;
  return { elicits, hasRoots: roots !== undefined };
}

/** The name of clients that give none. */
export const unnamedClient = "unknown client";

const longestName = 100;

/** The client's own name, which is untrusted; it is shown in the run's name. */
export function clientNameOf(info: unknown): string {
  const { name } = (info ?? {}) as { readonly name?: unknown };
  const shown =
    typeof name === "string" ? name.slice(0, 1000).replaceAll(/\p{C}/gu, "").trim() : "";
  return shown === "" ? unnamedClient : headOf(shown, longestName);
}
