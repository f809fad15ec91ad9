import { z } from "zod";
import { type AgentRegistry, emptyRegistry } from "../../../control/records/agent-registry.ts";
import { registryId } from "../../../control/records/control-store.ts";
import {
  describeStored,
  type PinScope,
  pinRecordId,
  type StoredPin,
} from "../../../control/records/pins.ts";
import { holdsRole, type Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { ControlRecord } from "../../../ports/record-store.ts";
import type { Runtime } from "../../../runtime.ts";
import { RecordConflict } from "../problem.ts";
import { defineRoute, type Host } from "../route.ts";
import { folderOf, sessionOf, workspaceOf } from "./place-of-request.ts";
import { countIn, listOf, moment, plainData, profileName, sessionName } from "./shared-schemas.ts";

export const registryRecord = z.object({
  record: z.string(),
  version: z.number().meta({ description: "0: nothing is registered." }),
  value: plainData<AgentRegistry>("{ version: 1, agents: [ … ] }"),
  updatedBy: z.string().nullable(),
  updatedAt: moment.nullable(),
});

const expectedVersion = z.int().min(0).meta({
  description: "The version that was read; 0: the record must not exist yet.",
});

const putRegistryBody = z.strictObject({
  value: z.record(z.string(), z.unknown()).meta({ description: "The whole registry." }),
  expectedVersion,
});

const pinScope = z.enum(["session", "user", "workspace", "global"]);

const scopeId = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,1024}$/u, "1 to 1024 characters that can be seen")
  .meta({
    description:
      "The session, user or folder of the pin, as in the list. Absent for global; default for user: the caller. Only admins can name other users.",
  });

export const pinRow = z.object({
  record: z.string(),
  scope: pinScope,
  id: z.string().nullable(),
  profileId: z.string().nullable().meta({ description: "Null: the record has no profile." }),
  problem: z.string().nullable().meta({ description: "Why it cannot be used; null: it is valid." }),
  version: z.number(),
  updatedBy: z.string(),
  updatedAt: moment,
});

const pinList = z.object({
  /** The pin in effect for the caller, and its origin. */
  effective: z.object({ scope: pinScope, profileId: z.string(), source: z.string() }).nullable(),
  problem: z.string().nullable().meta({ description: "Why the pin in effect cannot be used." }),
  items: listOf(pinRow).meta({ description: "Pins of all scopes, at most a thousand." }),
});

const putPinBody = z.strictObject({
  scope: pinScope,
  id: scopeId.optional(),
  profileId: profileName,
  expectedVersion,
});

const deletePinQuery = z.strictObject({
  scope: pinScope,
  id: scopeId.optional(),
  expectedVersion: countIn(1, Number.MAX_SAFE_INTEGER),
});

const mostPins = 1000;
const registryName = `policy/${registryId}`;

export const recordRoutes = [
  defineRoute({
    id: "getRegistry",
    method: "GET",
    path: "/registry",
    summary: "Gives the stored agent registry with its version.",
    tag: "registry",
    role: "viewer",
    reply: registryRecord,
    handle: async (_request, { runtime: { store } }) =>
      describeRegistry(await store.readRecord("policy", registryId)),
  }),
  defineRoute({
    id: "putRegistry",
    method: "PUT",
    path: "/registry",
    summary: "Replaces the whole registry, if it still has the version that was read.",
    tag: "registry",
    role: "operator",
    body: putRegistryBody,
    reply: registryRecord,
    async handle({ body: { expectedVersion, value }, principal }, { runtime }) {
      const record = await editRecord(runtime, registryName, value, expectedVersion, principal);
      return describeRegistry(record ?? undefined);
    },
  }),
  defineRoute({
    id: "listPins",
    method: "GET",
    path: "/pins",
    summary: "Lists the pins of all scopes, and the one in effect for the caller.",
    tag: "pins",
    role: "viewer",
    query: z.strictObject({
      session: sessionName.optional(),
      workspace: z.string().max(4096).optional(),
    }),
    reply: pinList,
    async handle({ principal, query }, host) {
      const { control } = host.runtime;
      const workspace = await folderOf(host, query.workspace);
      const session = sessionOf(principal, query.session);
      const context = { session, user: principal.id, workspace };
      const items = (await control.plane.storedPins(mostPins)).map(describePin);
      try {
        return {
          effective: (await control.plane.effectivePin(context)) ?? null,
          problem: null,
          items,
        };
      } catch (error) {
        if (!(error instanceof MandateError) || !isBrokenPin(error)) throw error;
        return { effective: null, problem: error.message, items };
      }
    },
  }),
  defineRoute({
    id: "putPin",
    method: "PUT",
    path: "/pins",
    summary:
      "Pins a profile for a scope, if the pin still has the version that was read. Scopes other than the own user need an operator.",
    tag: "pins",
    // Every principal may set its own user pin; the control plane requires an operator otherwise.
    role: "viewer",
    body: putPinBody,
    reply: pinRow,
    async handle({ body, principal }, host) {
      const { runtime } = host;
      const { expectedVersion, profileId } = body;
      const name = await pinOfRequest(body, principal, host);
      const record = await editRecord(runtime, name, { profileId }, expectedVersion, principal);
      if (record === null) throw new TypeError("a pin that was written is gone");
      return describePin(describeStored(record, () => true));
    },
  }),
  defineRoute({
    id: "deletePin",
    method: "DELETE",
    path: "/pins",
    summary:
      "Removes the pin of a scope, if it still has the version that was read. Scopes other than the own user need an operator.",
    tag: "pins",
    role: "viewer",
    query: deletePinQuery,
    reply: null,
    status: 204,
    async handle({ principal, query }, host) {
      const name = await pinOfRequest(query, principal, host);
      await editRecord(host.runtime, name, null, query.expectedVersion, principal);
      return null;
    },
  }),
];

function describeRegistry(record: ControlRecord | undefined): z.infer<typeof registryRecord> {
  return {
    record: registryName,
    version: record?.version ?? 0,
    value: (record?.value as AgentRegistry | undefined) ?? emptyRegistry,
    updatedBy: record?.updatedBy ?? null,
    updatedAt: record?.updatedAt ?? null,
  };
}

function isBrokenPin({ code }: MandateError): boolean {
  return code === "unknown-profile" || code === "config-invalid";
}

function describePin({ resourceId, ...pin }: StoredPin): z.infer<typeof pinRow> {
  const { id, problem, profileId, scope, updatedAt, updatedBy, version } = pin;
  const record = `policy/${resourceId}`;
  return { record, scope, id, profileId, problem, version, updatedBy, updatedAt };
}

/** Compare-and-set of an allowlisted record; a conflict carries the current record. */
async function editRecord(
  { control, store }: Runtime,
  name: string,
  value: unknown,
  expectedVersion: number,
  by: Principal,
): Promise<ControlRecord | null> {
  try {
    const record = await control.plane.editAllowlisted(name, value, expectedVersion, by);
    await control.view.refresh();
    return record;
  } catch (error) {
    if (!(error instanceof MandateError) || error.code !== "conflict") throw error;
    const now = await store.readRecord("policy", name.slice("policy/".length));
    throw new RecordConflict(error.message, {
      version: now?.version ?? 0,
      value: now?.value ?? null,
    });
  }
}

interface NamedPin {
  readonly scope: PinScope;
  /** The id of a pin, as in the list of pins. */
  readonly id?: string | undefined;
}

/**
 * The record of a request's pin. A pin decides which profile serves requests that name none.
 * Operators can set pins for themselves, for the folders of this server and globally, but not for
 * another user. Admins can set all pins.
 */
async function pinOfRequest(
  { id, scope }: NamedPin,
  principal: Principal,
  host: Pick<Host, "workspaces">,
): Promise<string> {
  const whose = id ?? (scope === "user" ? principal.id : undefined);
  const name = pinRecordId(scope, { [scope]: whose });
  if (name === undefined || (scope === "global") !== (whose === undefined)) {
    const isGlobal = scope === "global";
    const what = isGlobal ? 'A global pin has no "id".' : `"id" must name the ${scope}.`;
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
  // A pin applies to the real path of a folder, and to no other spelling of it.
  if (scope === "workspace" && (await workspaceOf(host, whose)) === whose) return;
  if (scope === "user" && whose === principal.id) return;
  const own = sessionOf(principal, "") ?? "";
  if (scope === "session" && whose.startsWith(own) && whose !== own) return;
  const sentences: Readonly<Record<PinScope, string>> = {
    global: "A global pin has no owner.",
    session: `You can set pins only for your own sessions, whose ids begin with ${JSON.stringify(own)}.`,
    user: "User pin is for your own user only.",
    workspace: "A workspace pin must name the real path of the folder.",
  };
  throw new MandateError("refused-by-policy", sentences[scope]);
}
