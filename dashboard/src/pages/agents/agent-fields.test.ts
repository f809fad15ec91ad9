import { expect, it } from "vitest";
import {
  type AgentEntry,
  entryOf,
  fieldsOf,
  newAgent,
  problemsAt,
  type Registry,
  withEntry,
} from "./agent-fields.ts";

const writer: AgentEntry = {
  agentId: "@writer",
  profileId: "writer",
  description: "Writes.",
  tags: ["text", "docs"],
  defaultForwardSkills: ["style"],
  allowedForwardSkills: [],
};
const registry: Registry = {
  version: 1,
  agents: [{ agentId: "@first", profileId: "a", description: "b" }, writer],
};

it("An entry comes back from the form as it was: an empty restriction is not the same as none", () => {
  expect(entryOf(fieldsOf(writer))).toEqual(writer);
  expect(fieldsOf(writer)).toMatchObject({ allowedForwardSkills: "", allowedMcpServers: null });
  const open = entryOf({ ...fieldsOf(writer), allowedForwardSkills: null, tags: " , " });
  expect([open.allowedForwardSkills, open.tags]).toEqual([undefined, undefined]);
  expect(entryOf({ ...newAgent, agentId: " @x ", tags: "a,,b ," }).tags).toEqual(["a", "b"]);
});

it("A changed entry keeps its place, and a new one is the last", () => {
  const changed = withEntry(registry, { ...writer, description: "Other." });
  expect(changed.agents.map(({ description }) => description)).toEqual(["b", "Other."]);
  const added = withEntry(registry, { ...writer, agentId: "@new" });
  expect(added.agents.map(({ agentId }) => agentId)).toEqual(["@first", "@writer", "@new"]);
});

it("The server's errors are shown at the fields that they are about", () => {
  const detail = [
    "agents[1].description: must not be empty",
    'agents[1].tags[0]: "x" is too long',
    "agents[0].profileId: there is no such profile",
    "version: must be 1",
  ].join("\n");
  expect(problemsAt(detail, registry, "@writer")).toEqual([
    { field: "description", message: "must not be empty" },
    { field: "tags", message: '"x" is too long' },
    { field: null, message: "agents[0].profileId: there is no such profile" },
    { field: null, message: "version: must be 1" },
  ]);
});
