import { afterEach, expect, test } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { until } from "../../testing/until.ts";
import { createMandate, type Mandate } from "./mandate.ts";

let mandate: Mandate | undefined;

afterEach(async () => {
  const report = await mandate?.verify();
  await mandate?.close();
  mandate = undefined;
  expect(report?.violations ?? []).toEqual([]);
});

const scribe = {
  name: "scribe",
  description: "Writes things down.",
  capabilities: ["subtask" as const],
  prompt: "You write.",
  tools: [],
  triggers: { slash: ["note"], hotkeys: ["ctrl+n"] },
  origin: "test",
};

async function open(): Promise<Mandate> {
  mandate = await createMandate({
    database: ":memory:",
    environment: {},
    scripted: scriptedModel(() => "Noted."),
    profiles: [scribe],
  });
  return mandate;
}

test("a program passes on what a person typed, and gets the same fixed replies", async () => {
  const opened = await open();
  const by = { id: "otto", role: "operator", session: "s1" } as const;
  expect(await opened.command("/status", by)).toEqual({
    ok: true,
    reply: "Nothing runs.",
    data: [],
  });
  const started = await opened.command("/note that it rains", by);
  expect(started.reply).toMatch(/^Started scribe#[0-9a-f]{6} in run r[0-9a-f]{6}\.$/);
  const { delegationId } = (started.ok && started.data) as { delegationId: string };
  const noted = await until("the delegation ends", () => opened.getResult(delegationId));
  expect(noted.result).toBe("Noted.");
  const viewer = { ...by, role: "viewer" } as const;
  expect(await opened.command("/note that it rains", viewer)).toMatchObject({
    ok: false,
    code: "refused-by-policy",
  });
  expect((await opened.command("/tree", { ...by, run: "r000000" })).reply).toBe(
    "There is no run or delegation r000000.",
  );
});

test("a program can show what could be typed, and which keys type it", async () => {
  const opened = await open();
  const by = { id: "otto", role: "viewer" } as const;
  expect(await opened.complete("/no", by)).toEqual([
    { text: "/note", description: "Writes things down." },
  ]);
  expect(opened.hotkeys().hotkeys).toContainEqual({
    keys: "ctrl+n",
    profile: "scribe",
    command: "/note ",
    needsText: true,
  });
});
