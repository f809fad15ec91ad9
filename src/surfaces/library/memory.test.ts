import { expect, onTestFinished, test } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { createMandate } from "./mandate.ts";

test("a program sees what agents saved, and what it promotes is found by later agents", async () => {
  const profile = { description: "A test", capabilities: ["subtask" as const], origin: "test" };
  const tools = ["memory_save", "memory_load", "delegate_task"];
  const heard: string[] = [];
  const mandate = await createMandate({
    database: ":memory:",
    environment: { MANDATE_HOME: "/nowhere" },
    profiles: ["lead", "scout", "reader"].map((name) => ({
      ...profile,
      name,
      prompt: "Go.",
      tools,
    })),
    scripted: scriptedModel(({ caller, messages }) => {
      const last = messages.at(-1);
      if (last?.role === "tool") {
        if (caller.profile === "reader") heard.push(last.text);
        return "done";
      }
      const calls = {
        lead: { tool: "delegate_task", input: { profile: "scout", task: "look" } },
        scout: { tool: "memory_save", input: { text: "The well is dry.", tags: ["water"] } },
      };
      const call = calls[caller.profile as keyof typeof calls];
      return { calls: [call ?? { tool: "memory_load", input: { query: "well" } }] };
    }),
  });
  onTestFinished(() => mandate.close());
  await mandate.delegate({ profile: "lead", task: "go" });
  await mandate.delegate({ profile: "reader", task: "go" });
  const [memory] = await mandate.memory.list({ tags: ["water"] });
  expect(memory).toMatchObject({ text: "The well is dry.", scope: "delegated", profile: "scout" });
  expect((await mandate.memory.promote(memory?.id ?? "")).status).toBe("promoted");
  await mandate.delegate({ profile: "reader", task: "go" });
  await mandate.memory.forget(memory?.id ?? "");
  await mandate.delegate({ profile: "reader", task: "go" });
  expect(heard.map((text) => text.includes("The well is dry."))).toEqual([false, true, false]);
  expect((await mandate.verify()).violations).toEqual([]);
});
