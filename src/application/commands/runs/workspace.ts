import { requireRole } from "../../../control/records/principal.ts";
import type { WorkspaceMode } from "../../../sessions/session-workspace.ts";
import { defineCommand } from "../command.ts";

const modes: readonly WorkspaceMode[] = ["readonly", "writable"];

const sentences: Readonly<Record<WorkspaceMode, string>> = {
  readonly: "The workspace is read-only for the next runs of this session.",
  writable: "The workspace is writable for the next runs of this session, where profiles allow it.",
};

/** `writable` takes `readonly` back. It gives nothing that the surface or a contract does not give. */
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
