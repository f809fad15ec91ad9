import { describe, expect, it } from "vitest";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"] }),
  testProfile("leaf", { tools: [] }),
];
const model = ({ caller }: { caller: { profile: string; turn: number } }) =>
  caller.profile === "lead" && caller.turn === 1
    ? { calls: [{ tool: "delegate_task", input: { profile: "leaf", task: "part" } }] }
    : "done";

describe("whom a run is for", () => {
  it("stands in every contract of the tree, with no more scopes than they have", async () => {
    await using mandate = await openEngine({ profiles, model });
    const by = { id: "reports", role: "operator", scopes: ["notes.read"] };
    const { events } = await mandate.run({ task: "go", profile: "lead", by });
    const created = ofType(events, "agent.subagent_created");
    expect(created).toHaveLength(2);
    for (const { sub_agent_id: id = "" } of created) {
      const { principal, permissions } = await mandate.store.readContract(id);
      expect(principal).toEqual({ id: "reports", role: "operator" });
      expect(permissions.scopes).toEqual(["notes.read"]);
      expect(permissions.may_delegate?.scopes ?? permissions.scopes).toEqual(["notes.read"]);
    }
  });

  it("is whoever resumes it, within what it held before", async () => {
    await using mandate = await openEngine({ profiles, model: () => ({ text: "" }) });
    const first = { id: "one", role: "operator", scopes: ["a", "b"] };
    const failed = await mandate.run({ task: "go", profile: "leaf", by: first });
    const second = { id: "two", role: "operator", scopes: ["b", "c"] };
    const { delegationId, result } = await mandate.engine.resume(failed.runId, second);
    await result;
    const { principal, permissions } = await mandate.store.readContract(delegationId);
    expect(principal.id).toBe("two");
    expect(permissions.scopes).toEqual(["b"]);
  });

  it("stays the same when another process takes the run up", async () => {
    let die = (): void => undefined;
    const dead = new Promise<void>((resolve) => {
      die = resolve;
    });
    await using mandate = await openEngine({
      profiles,
      model: () => {
        die();
        return new Promise(() => undefined);
      },
    });
    const by = { id: "reports", role: "operator", scopes: ["notes.read"] };
    const { runId } = await mandate.start({ task: "go", profile: "lead", by });
    await dead;
    mandate.abandon();
    const next = await mandate.another({ profiles, model });
    const [recovered] = await next.engine.recover();
    expect(await recovered?.result).toMatchObject({ status: "completed" });
    const created = ofType(await next.events(runId), "agent.subagent_created");
    const child = await next.store.readContract(created[1]?.sub_agent_id ?? "");
    expect(child.principal).toEqual({ id: "reports", role: "operator" });
    expect(child.permissions.scopes).toEqual(["notes.read"]);
  });
});
