import type { z } from "zod";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { Inbox } from "../../../sessions/inbox/inbox.ts";
import type { Host } from "../host.ts";
import type { answerReply } from "../shapes/delegation-shapes.ts";

/** The log of the run says what was answered; the control log says who did, also in vain. */
export async function answerQuestion(
  { runtime: { control, store } }: Host,
  askId: string,
  text: string,
  by: Principal,
): Promise<z.infer<typeof answerReply>> {
  try {
    await new Inbox(store).answer(askId, text);
    await control.plane.noteCommand(`answer ${askId}`, by, "done");
    return { askId, accepted: true };
  } catch (error) {
    const code = error instanceof MandateError ? error.code : "failed";
    await control.plane.noteCommand(`answer ${askId}`, by, code);
    throw error;
  }
}
