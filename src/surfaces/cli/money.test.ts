import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWireServer, type WireServer } from "../../models/wire-server.test-support.ts";
import { Desk } from "./desk.test-support.ts";

const prices = `models: { prices: { scripted/playbook: { input: 1, output: 1 } } }`;

const playbook = `
version: 1
replies:
  - { when: { try: 1 }, fault: connection, partial: "it began" }
  - { text: "done", usage: { prompt: 10, completion: 5 } }
`;

let desk: Desk;
let server: WireServer;

beforeAll(async () => {
  desk = new Desk();
  server = await startWireServer();
  server.answer = (response) => response.writeHead(401).end("{}");
});

afterAll(async () => {
  desk.clear();
  await server.close();
});

test("an estimate is marked wherever an amount is shown", async () => {
  desk.write("book.yaml", playbook);
  desk.write("prices.yaml", prices);
  const environment = { MANDATE_CONFIG: `${desk.folder}/prices.yaml` };
  const shown = async (...words: string[]) => {
    const { code, out } = await desk.type(words, { environment });
    expect({ words, code }).toEqual({ words, code: 0 });
    return out;
  };
  await shown("run", "--playbook", "book.yaml", "Do it");
  const id = JSON.parse(await shown("tree", "--json")).delegations[0].delegationId;
  expect(await shown("ls")).toMatch(/ ≤ [\d.]+k +≤ \$0\.0\d+ /);
  expect(await shown("tree")).toMatch(/≤ [\d.]+k\/1M +≤ \$0\.0/);
  expect(await shown("show", id)).toMatch(/tokens +≤ [\d.]+k in, ≤ 13 out, ≤ \$0\.0/);
  expect(await shown("logs")).toMatch(/used ≤ \d+ tokens \(estimate\)/);
  expect(await shown("sessions")).toMatch(/≤ [\d.]+k +≤ \$0\.0/);
  const [run] = JSON.parse(await shown("ls", "--json"));
  expect(run).toMatchObject({ estimated: true });
  expect(JSON.parse(await shown("result", "--json")).tokenUsage).toMatchObject({ estimated: true });
  expect(JSON.parse(await shown("tree", "--json")).delegations[0]).toMatchObject({
    estimated: true,
  });
  expect(await shown("command", `/budget ${run.id}`)).toMatch(/≤ \d+ of 1000000 tokens, ≤ \$0\.0/);
});

describe("a cost cap and a model without a price", () => {
  const provider = (): string =>
    `mock: { kind: openai-compatible, baseUrl: "${server.url}/v1", apiKey: k }`;
  const type = (config: string, ...words: string[]) => {
    desk.write("own.yaml", config);
    const environment = {
      MANDATE_CONFIG: `${desk.folder}/own.yaml`,
      MANDATE_MODEL: "mock/unknown",
    };
    return desk.type(["run", ...words, "Do it"], { environment });
  };

  test("are refused together, and nothing is sent", async () => {
    const { code, err } = await type(
      `models: { providers: { ${provider()} } }`,
      "--max-cost",
      "0.01",
    );
    expect(code).toBe(3);
    expect(err).toContain('models: { prices: { "mock/unknown": { input: 2.50, output: 10.00 } } }');
    expect(server.bodies).toEqual([]);
  });

  test("each alone are not", async () => {
    const before = server.bodies.length;
    await type(`models: { providers: { ${provider()} } }`);
    expect(server.bodies.length).toBeGreaterThan(before);
    const priced = `models: { providers: { ${provider()} }, prices: { mock/unknown: { input: 0, output: 0 } } }`;
    const sent = server.bodies.length;
    await type(priced, "--max-cost", "0.01");
    expect(server.bodies.length).toBeGreaterThan(sent);
  });
});
