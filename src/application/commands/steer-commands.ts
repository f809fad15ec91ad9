import { requireRole } from "../../control/records/principal.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { WorkspaceMode } from "../../sessions/session-records.ts";
import { defineCommand } from "./command.ts";
import { describeResumed } from "./describe-run.ts";
import { parseId, splitFirstWord } from "./parse-arguments.ts";

export const cancelWork = defineCommand<{ readonly id: string }>({
  name: "cancel",
  form: "<id>",
  about: "Cancels a run or a delegation, with everything below it. It can be resumed.",
  completes: ["open"],
  parse: parseId,
  async execute({ id }, { steering }, principal) {
    requireRole("steer-work", principal);
    const outcome = await steering.cancel(id, `cancelled by ${principal.id}`);
    if (outcome === "not_found") {
      throw new MandateError("unknown-delegation", `There is no run or delegation ${id}.`);
    }
    const isCancelled = outcome === "cancelled";
    const reply = isCancelled
      ? `Cancelled ${id}.`
      : `${id} had ended already; nothing was changed.`;
    return { reply, data: { id, outcome } };
  },
});

export const resumeWork = defineCommand<{ readonly id: string }>({
  name: "resume",
  form: "<id>",
  about:
    "Resumes what was paused, interrupted, cancelled or failed, under the contract that it had.",
  completes: ["run"],
  parse: parseId,
  async execute({ id }, { steering }, principal) {
    requireRole("steer-work", principal);
    const resumed = await steering.resume(id);
    return { reply: describeResumed(resumed, id), data: { id, ...resumed } };
  },
});

export const tellAgent = defineCommand<{ readonly id: string; readonly text: string }>({
  name: "tell",
  form: "<id> <text>",
  about: "Sends a message to an agent that works; it reads the message before its next turn.",
  takesLines: true,
  completes: ["open"],
  parse(rest) {
    const [word, text] = splitFirstWord(rest);
    const parsed = parseId(word);
    if ("problem" in parsed) return parsed;
    return text === "" ? { problem: "The message is missing." } : { id: parsed.id, text };
  },
  async execute({ id, text }, { steering }, principal) {
    requireRole("send-message", principal);
    const sent = await steering.tell(id, text);
    return { reply: `Sent to ${sent.delegationId}: it reads it before its next turn.`, data: sent };
  },
});

const modes: readonly WorkspaceMode[] = ["readonly", "writable"];

const sentences: Readonly<Record<WorkspaceMode, string>> = {
  readonly: "The workspace is read-only for the next runs of this session.",
  writable: "The workspace is writable for the next runs of this session, where profiles allow it.",
};

/** `writable` revokes `readonly`, and grants nothing that the surface or a contract does not. */
export const setWorkspace = defineCommand<{ readonly mode?: WorkspaceMode }>({
  name: "workspace",
  form: "[readonly|writable]",
  about: "Says whether the next runs of this session may write in the workspace.",
  completes: [{ words: modes }],
  parse(rest) {
    if (rest === "") return {};
    const mode = modes.find((each) => each === rest);
    return mode === undefined ? { problem: "It takes readonly or writable." } : { mode };
  },
  async execute({ mode }, { steering }, principal) {
    if (mode !== undefined) {
      requireRole("set-workspace", principal);
      await steering.setWorkspaceMode(mode, principal);
    }
    const current = await steering.workspaceMode();
    return { reply: sentences[current], data: { mode: current } };
  },
});
