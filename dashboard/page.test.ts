import { expect, it } from "vitest";
import { openEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { openPage, serve } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const profiles = [
  testProfile("lead", { tools: ["delegate_task"] }),
  testProfile("worker", { tools: [] }),
];
const model = {
  version: 1 as const,
  replies: [
    {
      when: { profile: "lead", turn: 1 },
      calls: [{ tool: "delegate_task", input: { profile: "worker", task: "Count the boats" } }],
    },
    { text: "Twelve" },
  ],
};

it("the page in a browser starts a run, and shows the delegation and how it ends", async () => {
  await using engine = await openEngine({ profiles, model });
  const { link, server } = await serve(engine, opened.files);
  const { page, context, faults } = await openPage(opened.browser, link());
  await page.getByLabel("Agent").selectOption("lead");
  await page.getByLabel("Task or command").fill("Ask how many boats there are");
  await page.getByLabel("Task or command").press("Enter");
  const tree = page.getByRole("treegrid", { name: "Delegations" });
  await tree.getByText("Count the boats").waitFor();
  await page.getByText("run succeeded").first().waitFor();
  expect(faults).toEqual([]);
  await context.close();
  await server.close(100);
});
