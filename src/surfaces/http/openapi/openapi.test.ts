import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineRoute, type Route } from "../route.ts";
import { routes } from "../routes/all-routes.ts";
import { openServer, testRoutes } from "../server.test-support.ts";
import { openApiOf } from "./openapi.ts";

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
  }[];
  readonly responses: Readonly<Record<string, unknown>>;
}

/** Every object in a document. */
function* objectsIn(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield value as Readonly<Record<string, unknown>>;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

function resolve(document: unknown, reference: string): unknown {
  let found: unknown = document;
  for (const step of reference.replace(/^#\//, "").split("/")) {
    found = (found as Readonly<Record<string, unknown>> | undefined)?.[step];
  }
  return found;
}

/** What is wrong with a document, as far as its structure goes. */
function faultsOf(document: ReturnType<typeof openApiOf>): readonly string[] {
  const faults: string[] = [];
  for (const { $ref: reference } of objectsIn(document)) {
    if (reference === undefined) continue;
    if (resolve(document, String(reference)) === undefined) faults.push(`${reference} is nowhere`);
  }
  const ids = new Set<string>();
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations as Record<string, Operation>)) {
      const { operationId, parameters = [], responses } = operation;
      if (ids.has(operationId)) faults.push(`${operationId} is there twice`);
      ids.add(operationId);
      if (!/^(get|post|put|delete)$/.test(method)) faults.push(`${method} ${path}`);
      if (Object.keys(responses).length < 2) faults.push(`${operationId} has no responses`);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).toSorted();
      const declared = parameters.filter((one) => one.in === "path" && one.required);
      const names = declared.map(({ name }) => name).toSorted();
      if (inPath.join() !== names.join()) faults.push(`${path} declares ${names.join()}`);
      const all = parameters.map((one) => `${one.in} ${one.name}`);
      if (new Set(all).size !== all.length) faults.push(`${operationId} has a parameter twice`);
    }
  }
  return faults;
}

const leaf = z.strictObject({ text: z.string() }).meta({ id: "Leaf" });
const tree = z.strictObject({
  leaf,
  get children() {
    return z.array(tree);
  },
});

const made = (id: string, more: Partial<Route>): Route =>
  defineRoute({
    id,
    method: "POST",
    path: `/${id}/:name`,
    summary: id,
    tag: "made",
    role: "viewer",
    reply: z.object({ leaf }),
    handle: () => ({ leaf: { text: "" } }),
    ...more,
  } as Route);

describe("the OpenAPI document", () => {
  it("describes every operation there is, and holds together", () => {
    const document = openApiOf([...routes, ...testRoutes]);
    expect(faultsOf(document)).toEqual([]);
    for (const { id, method, path } of routes) {
      const key = `/api/v1${path.replace(/:(\w+)/g, "{$1}")}`;
      expect(document.paths[key]?.[method.toLowerCase()]).toMatchObject({ operationId: id });
    }
    expect(JSON.stringify(document)).not.toMatch(/\$defs|\$schema|__schema/);
  });

  it("puts what has a name of its own in one place, also what contains itself", () => {
    const document = openApiOf([
      made("one", { body: z.strictObject({ tree }) }),
      made("two", {
        body: z.strictObject({ tree, leaf }),
        query: z.strictObject({ leaf: z.string() }),
      }),
    ]);
    expect(faultsOf(document)).toEqual([]);
    const { schemas } = document["components"] as { schemas: Record<string, unknown> };
    expect(Object.keys(schemas).filter((name) => name.startsWith("Leaf"))).toEqual(["Leaf"]);
    expect(document.paths["/api/v1/two/{name}"]).toMatchObject({
      post: {
        parameters: [
          { name: "name", in: "path", required: true },
          { name: "leaf", in: "query", required: true },
          { name: "Idempotency-Key", in: "header" },
        ],
      },
    });
  });

  it("says of a number in a query that it is one", () => {
    const limit = z.string().transform(Number).pipe(z.number().int().min(1).max(9)).optional();
    const document = openApiOf([made("list", { method: "GET", query: z.strictObject({ limit }) })]);
    expect(document.paths["/api/v1/list/{name}"]).toMatchObject({
      get: { parameters: [{}, { required: false, schema: { type: "integer", maximum: 9 } }] },
    });
  });

  it("keeps two schemas apart that share nothing but a name", () => {
    const other = z.strictObject({ number: z.number() }).meta({ id: "Other" });
    const another = z.strictObject({ flag: z.boolean() });
    const document = openApiOf([
      made("one", { reply: z.object({ other }) }),
      made("other", { reply: another, id: "other" }),
    ]);
    expect(faultsOf(document)).toEqual([]);
  });

  it("is served to whoever may look", async () => {
    await using http = await openServer();
    const { status, json } = await http.send({ path: "/api/v1/openapi.json" });
    expect([status, json()["openapi"]]).toEqual([200, "3.1.0"]);
  });
});
