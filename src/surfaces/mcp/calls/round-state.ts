import { randomBytes } from "node:crypto";
import { createRequestStateCodec } from "@modelcontextprotocol/server";

/** What a client hands back with its answers, so that we know what they are about. */
export type RoundState =
  | { readonly asked: "roots" }
  | { readonly asked: "questions"; readonly call: string };

/**
 * Sealed with a key of this process: whoever holds it can name none but its own calls, and those
 * are looked up among its own besides. Calls do not outlive the process, so the key need not.
 */
export const roundState = createRequestStateCodec<RoundState>({
  key: randomBytes(32),
  ttlSeconds: 3600,
});
