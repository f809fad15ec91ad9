import { MandateError } from "../../ports/mandate-error.ts";
import type { StartedRun } from "../cli/work-on.ts";
import type { ChatSetting } from "./chat-setting.ts";

/** The person's message: the first of a new session (null), or the next of one that there is. */
export async function startTurn(
  setting: ChatSetting,
  sessionId: string | null,
  message: string,
): Promise<StartedRun> {
  const { io, maxCost, maxTokens, modelOverride, place, profile, readOnly, runtime } = setting;
  if (sessionId === null) {
    const { workspace } = setting;
    const limits = { readOnly, maxTokens, maxCost };
    const request = { task: message, isTyped: true, profile, workspace, modelOverride, ...limits };
    return runtime.engine.startRun({ ...request, session: place });
  }
  const run = await runtime.store.readRun((await runtime.store.findRun(sessionId)) ?? "");
  // Scripted words must not go on with what a language model began, nor the other way round.
  if (run !== undefined && run.application !== runtime.parts.application) {
    throw new MandateError(
      "not-resumable",
      `This session is answered by something else (${run.application}): ${io.program} chat --continue ${sessionId}`,
    );
  }
  const session = run?.session?.id;
  return runtime.engine.continueSession(sessionId, message, { isTyped: true, readOnly, session });
}
