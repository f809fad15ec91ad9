import { type PinScope, pinRecordId } from "../../../control/records/pin.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { holdsRole } from "../../../control/records/require-role.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Host } from "../host.ts";
import { workspaceOf } from "../workspace-of.ts";
import { sessionOf } from "./place-of-request.ts";

export interface NamedPin {
  readonly scope: PinScope;
  /** As the list of pins has it. */
  readonly id?: string | undefined;
}

/**
 * The record of the pin that a request is about. A pin decides who works for whoever names nobody:
 * operators set it for themselves, for the folders of this server and for all, and never for one
 * other person. The owner of the installation may mend every one of them.
 */
export async function pinOfRequest(
  { id, scope }: NamedPin,
  principal: Principal,
  host: Pick<Host, "workspaces">,
): Promise<string> {
  const whose = id ?? (scope === "user" ? principal.id : undefined);
  const name = pinRecordId(scope, { [scope]: whose });
  if (name === undefined || (scope === "global") !== (whose === undefined)) {
    const isGlobal = scope === "global";
    const what = isGlobal
      ? 'A global pin is for all: leave out "id".'
      : `Say which ${scope}: "id".`;
    throw new MandateError("usage", what);
  }
  if (whose !== undefined && !holdsRole("admin", principal)) {
    await requireOwn(scope, whose, principal, host);
  }
  return `policy/${name}`;
}

async function requireOwn(
  scope: PinScope,
  whose: string,
  principal: Principal,
  host: Pick<Host, "workspaces">,
): Promise<void> {
  // A pin counts for the real path of a folder, and for no other spelling of it.
  if (scope === "workspace" && (await workspaceOf(host, whose)) === whose) return;
  if (scope === "user" && whose === principal.id) return;
  const own = sessionOf(principal, "") ?? "";
  if (scope === "session" && whose.startsWith(own) && whose !== own) return;
  const sentences: Readonly<Record<PinScope, string>> = {
    global: "A global pin is for all.",
    session: `A session's pin is for your own sessions only, whose ids begin with ${JSON.stringify(own)}.`,
    user: "User pin is for your own user only.",
    workspace: "A folder's pin names it by its real path.",
  };
  throw new MandateError("refused-by-policy", sentences[scope]);
}
