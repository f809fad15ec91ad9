import { originsIn } from "../../contracts/addresses-in.ts";
import type { ConsentMode } from "../../control/folders/decide-consent.ts";
import { withoutEmptyFields } from "../../documents/without-empty.ts";
import { noteWorkspace } from "../../processes/agent-folders.ts";
import { isReadOnlySession } from "../../sessions/session-workspace.ts";
import type { EngineParts } from "../engine-parts.ts";
import { isHandle } from "../start/resolve-profile.ts";
import { grantIn, grantNamed, grantTo, type RunGrant } from "../start/run-grant.ts";
import { type RunRequest, realWorkspace } from "../start/run-request.ts";
import type { RunOrder } from "./start-run.ts";

interface Ordering {
  readonly parts: Pick<EngineParts, "agents" | "consentTo" | "store">;
  readonly grant: RunGrant;
}

/** What a request leaves to others is filled in: by the pins of whoever asks, and by their session. */
export async function orderRun(
  { grant: own, parts }: Ordering,
  asked: RunRequest,
): Promise<RunOrder> {
  const request = withoutEmptyFields(asked, ["task"]);
  const { agents, store } = parts;
  const { session } = request;
  const workspace = realWorkspace(request);
  await agents.refresh(isHandle(request));
  const named = request.isTyped ? originsIn(request.task) : [];
  const grant = grantNamed(grantTo(own, request.by), named);
  const mode = await modeIn(parts, workspace, grant);
  const profile = request.profile ?? (await pinned(agents, request, workspace, grant.principal.id));
  const isClosed = request.readOnly === true || mode === "read-only";
  const isClosedBySession =
    !isClosed && session !== undefined && (await isReadOnlySession(store, session));
  const readOnly = isClosed || isClosedBySession;
  return {
    request: { ...request, profile, workspace, readOnly, isClosedBySession },
    grant: grantIn(grant, workspace, readOnly),
    isReviewed: mode === "copy",
  };
}

/**
 * Asked before anything is written: without consent there is no run. A folder counts as an agent's
 * from then on, and not because somebody asked for it: no program is taken from it any more.
 */
export async function modeIn(
  { consentTo }: Pick<EngineParts, "consentTo">,
  workspace: string | null,
  { principal }: RunGrant,
): Promise<ConsentMode> {
  if (workspace === null) return "in-place";
  const mode = await consentTo(workspace, principal.id);
  noteWorkspace(workspace);
  return mode;
}

/** The profile that the nearest scope has pinned, for those who name none. */
async function pinned(
  agents: EngineParts["agents"],
  { agent, session }: RunRequest,
  workspace: string | null,
  user: string,
): Promise<string | undefined> {
  if (agent !== undefined) return undefined;
  const context = { session, user, ...(workspace !== null && { workspace }) };
  return (await agents.pinned(context))?.profileId;
}
