import { externalProvider } from "../../contracts/contract.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import type { RunPrincipal } from "../start/run-grant.ts";
import { findAnswered, goingOn, type Resumption } from "./resumption.ts";
import { keepSessionMode, type SessionLimits } from "./session-mode.ts";

export interface ContinueOptions extends SessionLimits {
  readonly by?: RunPrincipal | undefined;
  /** A person typed the message, at a surface of ours. */
  readonly isTyped?: boolean | undefined;
}

/**
 * What to ask for, to go on with a session: the same agent under what it was granted then, with the
 * person's next message. How the last run ended does not matter. One session that is continued
 * twice from the same point becomes two; neither knows of the other.
 */
export async function continuation(
  store: Store,
  id: string,
  message: string,
  options: ContinueOptions = {},
): Promise<Resumption> {
  if (typeof message !== "string" || message.trim() === "") {
    throw new MandateError(
      "task-required",
      "A session goes on with a message: say what is to be done next.",
    );
  }
  const { delegation, state } = await findAnswered(store, id);
  if (delegation.parentId !== null || delegation.depth !== 0) {
    throw new MandateError(
      "not-resumable",
      `${delegation.id} worked for another agent, and a person has no session with it. The session that it belongs to is that of run ${state.id}.`,
    );
  }
  const contract = await store.readContract(delegation.id);
  if (contract.model.provider === externalProvider) {
    throw new MandateError(
      "not-resumable",
      `${delegation.id} is an agent of another program (${contract.model.model}): it goes on there.`,
    );
  }
  const held = await goingOn(store, state, contract, delegation.id);
  // Its background children still write into the copy of one that has answered.
  const before = delegation.status === "closed" ? held : { ...held, copy: undefined };
  // What was said of the first message is in the conversation already.
  const said = {
    ...{ task: message, context: undefined, successCriteria: undefined },
    ...{ isTyped: options.isTyped, isConversation: true },
  };
  const next = { ...before, request: { ...before.request, ...said } };
  return keepSessionMode(store, state, next, options, true);
}
