/** Each way in which a model cannot be asked, as a person meets it in `run` and `doctor --ping`. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Desk } from "./desk.test-support.ts";

const key = "canary-key-0123456789";
const json = { "content-type": "application/json" };
const html = { "content-type": "text/html" };

function refuse(status: number, message: string, headers = json) {
  return (response: ServerResponse) =>
    response.writeHead(status, headers).end(JSON.stringify({ error: { message } }));
}

/** By the name of the provider: what its server does. */
const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  key: refuse(401, `Incorrect API key: ${key}`),
  model: refuse(404, "The model `large-9` does not exist"),
  bad: refuse(400, "max_tokens: 8192 is too much"),
  page: (response) => response.writeHead(200, html).end("<title>Sign in</title>"),
  garbage: (response) =>
    response.writeHead(200, { "content-type": "text/event-stream" }).end("data: {oops\n\n"),
  quota: refuse(429, "You exceeded your current quota"),
  busy: refuse(503, "Overloaded"),
};

let desk: Desk;
let server: Server;
const asked: string[] = [];

beforeAll(async () => {
  desk = new Desk();
  server = createServer((request, response) => {
    const [, name = ""] = (request.url ?? "").split("/");
    if (request.method === "GET") {
      response.end(JSON.stringify({ data: [{ id: "large-1" }, { id: "small" }] }));
      return;
    }
    asked.push(name);
    request.resume().on("end", () => answers[name]?.(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const providers = Object.keys(answers).map(
    (name) =>
      `    ${name}: { kind: openai-compatible, baseUrl: ${at}/${name}/v1, apiKeyEnv: ${name.toUpperCase()}_KEY }`,
  );
  const rest =
    "  pools: { two: [key/large-9, model/large-9] }\nretry: { initialDelayMs: 1, maxDelayMs: 1 }";
  const config = `models:\n  providers:\n${providers.join("\n")}\n${rest}\n`;
  desk.write("own.yaml", config);
  desk.write("pool.yaml", config.replace("models:\n", "models:\n  defaultPool: two\n"));
});

afterAll(() => {
  desk.clear();
  server.closeAllConnections();
  server.close();
});

function environment(name: string) {
  const keys = Object.keys(answers).map((each) => [`${each.toUpperCase()}_KEY`, key]);
  const own = { MANDATE_CONFIG: `${desk.folder}/own.yaml`, MANDATE_MODEL: `${name}/large-9` };
  const nowhere = { OLLAMA_HOST: "127.0.0.1:1", LMSTUDIO_BASE_URL: "127.0.0.1:1" };
  return { ...Object.fromEntries(keys), ...nowhere, PATH: process.env["PATH"] ?? "", ...own };
}

test.each<[string, string, RegExp, number]>([
  ["key", "API key refused", /refused the API key \(401\).*Set KEY_KEY to a valid key/, 1],
  ["model", "unknown model", /not offered by its provider.*Did you mean model\/large-1\?/, 1],
  ["bad", "request rejected", /8192 is too much.*choose another model/, 1],
  ["page", "no model at this address", /web page “Sign in” \(200\).*Correct the address/, 1],
  ["garbage", "unreadable answer", /cannot be read: invalid JSON.*openai-compatible/, 2],
  ["quota", "account limit reached", /current quota\. Raise the limit/, 1],
])(
  "%s: run says it once, the next step before the resumption",
  async (name, label, says, times) => {
    asked.length = 0;
    const { code, err, out } = await desk.type(["run", "hello"], {
      environment: environment(name),
    });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    const sentence = err.split("\n").filter((line) => says.test(line));
    expect(sentence).toEqual([expect.stringMatching(`^mandate: failed \\(${label}\\): `)]);
    expect(err).toMatch(/\nThen resume: mandate resume r\w+\. Details: mandate show \w+\n/);
    expect(err).not.toMatch(/provider_unavailable|canary/);
    expect(asked).toHaveLength(times);
    const id = /resume (r\w+)/.exec(err)?.[1] ?? "";
    expect((await desk.type(["tree", id])).out).toContain(label);
  },
);

test("no list and no page shows the code of the reason", async () => {
  for (const command of ["ls", "show", "tree", "logs"]) {
    const { out } = await desk.type([command]);
    expect(out).not.toMatch(/[a-z]_[a-z]+_?unavailable/);
    expect(out).toMatch(/general|failed/);
  }
});

test.each(Object.keys(answers))(
  "doctor --ping asks the default model once, and says what a run would say of %s",
  async (name) => {
    asked.length = 0;
    const typed = await desk.type(["doctor", "--ping"], { environment: environment(name) });
    expect(typed.code).toBe(1);
    expect(asked).toEqual([name]);
    expect(typed.out).toMatch(new RegExp(`✗ ping +.*${name}.*\\. \\w.*[.?]`));
    expect(typed.out).not.toContain(key);
  },
);

test("doctor without --ping asks no model, and says so", async () => {
  asked.length = 0;
  const { out } = await desk.type(["doctor"], { environment: environment("key") });
  expect(out).toMatch(/○ ping +not asked. Ask it: mandate doctor --ping/);
  expect(asked).toEqual([]);
});

test("models that were asked first are told with their own faults and next steps", async () => {
  const { MANDATE_MODEL: _, ...rest } = environment("key");
  const pooled = { ...rest, MANDATE_CONFIG: `${desk.folder}/pool.yaml` };
  const { err } = await desk.type(["run", "hello"], { environment: pooled });
  expect(err).toMatch(
    /mandate: failed \(unknown model\): .*\nTried first: key\/large-9 refused.* Set KEY_KEY to a valid key\.\nThen resume/,
  );
});
