import { z } from "zod";
import { summarizeProfile } from "../../../application/summarize-profile.ts";
import { type AgentEntry, sortAgents } from "../../../control/records/agent-registry.ts";
import type { Runtime } from "../../../runtime.ts";
import { defineRoute } from "../route.ts";
import { agentId, listOf, profileName } from "./shared-schemas.ts";

const names = z.array(z.string().max(200)).max(500);

const agentRow = z.object({
  agentId: z.string(),
  profileId: z.string(),
  description: z.string(),
  defaultForwardSkills: listOf(z.string()).optional(),
  allowedForwardSkills: listOf(z.string()).optional(),
  defaultMcpServers: listOf(z.string()).optional(),
  allowedMcpServers: listOf(z.string()).optional(),
  tags: listOf(z.string()).optional(),
  profileExists: z.boolean(),
  model: z.string().nullable().meta({ description: "The model that it would use now." }),
});

const agentList = z.object({ items: listOf(agentRow), version: z.number() });

/** Absent fields keep their values; a new agent needs a profile and a description. */
const registerAgentBody = z.strictObject({
  profileId: profileName,
  description: z.string().max(2000),
  defaultForwardSkills: names.optional(),
  allowedForwardSkills: names.optional(),
  defaultMcpServers: names.optional(),
  allowedMcpServers: names.optional(),
  tags: names.optional(),
});

const tag = "agents";
const params = z.object({ agentId });

export const agentRoutes = [
  defineRoute({
    id: "listAgents",
    method: "GET",
    path: "/agents",
    summary: "Lists the agents that can be delegated to.",
    tag,
    role: "viewer",
    reply: agentList,
    async handle(_request, { runtime }) {
      const { registry, version } = await runtime.control.plane.registry();
      const items = sortAgents(registry.agents).map((entry) => describeAgent(entry, runtime));
      return { items, version };
    },
  }),
  defineRoute({
    id: "getAgent",
    method: "GET",
    path: "/agents/:agentId",
    summary: "Shows one agent: its profile, and what may be forwarded to it.",
    tag,
    role: "viewer",
    params,
    reply: agentRow,
    handle: async ({ params: { agentId: id } }, { runtime }) =>
      describeAgent(await runtime.control.plane.entry(id), runtime),
  }),
  defineRoute({
    id: "registerAgent",
    method: "PUT",
    path: "/agents/:agentId",
    summary: "Registers or changes an agent. Absent fields keep their values.",
    tag,
    role: "operator",
    params,
    body: registerAgentBody,
    reply: agentRow,
    async handle({ body, params: { agentId: id }, principal }, { runtime }) {
      const { control } = runtime;
      const said = Object.entries(body).filter(([, value]) => value !== undefined);
      const entry = { ...Object.fromEntries(said), agentId: id } as unknown as AgentEntry;
      await control.plane.register(entry, principal);
      await control.view.refresh();
      return describeAgent(await control.plane.entry(id), runtime);
    },
  }),
  defineRoute({
    id: "unregisterAgent",
    method: "DELETE",
    path: "/agents/:agentId",
    summary: "Removes an agent from the registry.",
    tag,
    role: "operator",
    params,
    reply: null,
    status: 204,
    async handle({ params: { agentId: id }, principal }, { runtime: { control } }) {
      await control.plane.unregister(id, principal);
      await control.view.refresh();
      return null;
    },
  }),
];

function describeAgent(entry: AgentEntry, runtime: Runtime) {
  const profile = summarizeProfile(runtime, entry.profileId);
  return { ...entry, profileExists: profile !== undefined, model: profile?.model ?? null };
}
