import {
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Era } from "../client-abilities.ts";
import type { ClientSession } from "../client-session.ts";
import { type RoundState, roundState } from "./round-state.ts";

const patienceMs = 10_000;
/** Since 2026-07-28 no client says that its roots have changed. */
const trustedMs = 30_000;

/**
 * Asks a client for its roots before something is delegated. A client that has roots and does not
 * name any gets no folder at all: the one that the server was started in is for those without.
 */
export async function learnRoots(
  session: ClientSession,
  era: Era,
  context: ServerContext,
): Promise<InputRequiredResult | undefined> {
  const age = session.runtime.parts.clock.now() - session.rootsReadAt;
  if (era === "legacy") return session.rootsReadAt > 0 ? undefined : askNow(session, context);
  return age < trustedMs ? undefined : askInRounds(session, context);
}

async function askNow(session: ClientSession, { mcpReq }: ServerContext): Promise<undefined> {
  try {
    const { roots } = await mcpReq.send({ method: "roots/list" }, { timeout: patienceMs });
    await session.takeRoots(roots.map(({ uri }) => uri));
  } catch {
    // It may know better next time.
    await session.takeRoots([]);
    session.rootsReadAt = 0;
  }
  return undefined;
}

async function askInRounds(
  session: ClientSession,
  { mcpReq }: ServerContext,
): Promise<InputRequiredResult | undefined> {
  if (mcpReq.requestState<RoundState>()?.asked !== "roots") {
    return inputRequired({
      inputRequests: { roots: inputRequired.listRoots() },
      requestState: await roundState.mint({ asked: "roots" }),
    });
  }
  const given = inputResponse(mcpReq.inputResponses, "roots");
  const uris = given.kind === "roots" ? given.roots.map(({ uri }) => uri) : [];
  await session.takeRoots(uris.filter((uri) => typeof uri === "string"));
  return undefined;
}
