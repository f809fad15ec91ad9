import { z } from "zod";
import { type AgentRegistry, emptyRegistry } from "../../../control/records/agent-registry.ts";
import { registryId } from "../../../control/records/control-store.ts";
import { describeStored, type StoredPin } from "../../../control/records/pin-records.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { ControlRecord } from "../../../ports/record-store.ts";
import { defineRoute, type Route } from "../route.ts";
import { sessionName } from "../shapes/ids.ts";
import {
  deletePinQuery,
  pinList,
  pinRow,
  putPinBody,
  putRegistryBody,
  registryRecord,
} from "../shapes/record-shapes.ts";
import { editRecord } from "./edit-record.ts";
import { pinOfRequest } from "./pin-of-request.ts";
import { folderOf, sessionOf } from "./place-of-request.ts";

const mostPins = 1000;
const registryName = `policy/${registryId}`;

export const recordRoutes: readonly Route[] = [
  defineRoute({
    id: "getRegistry",
    method: "GET",
    path: "/registry",
    summary: "Gives the agent registry as it is stored, with its version.",
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
    summary: "Replaces the whole registry, if it is still at the version that was read.",
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
    summary: "Lists the pins of every scope, and says which one counts for whoever asks.",
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
      "Pins a profile for a scope, if its pin is still at the version that was read. For other scopes than one's own user, operators.",
    tag: "pins",
    // Everybody sets their own user pin; the control plane asks for an operator otherwise.
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
      "Removes the pin of a scope, if it is still at the version that was read. For other scopes than one's own user, operators.",
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
