import { expect, test } from "vitest";
import { MandateClient } from "../../client/mandate-client.ts";
import { operationPlaces } from "../../client/operations.ts";
import { openApiOf } from "../openapi/openapi.ts";
import { openApiRoute } from "../openapi/openapi-route.ts";
import { routes } from "./all-routes.ts";

const table = [...routes, openApiRoute(() => routes)];

test("every route has a method of the client, and every method a route, at the same place", () => {
  const served = table.map(({ body, id, method, path }) => [
    id,
    { method, path, takesBody: body !== undefined },
  ]);
  const asked = Object.entries(operationPlaces).map(([id, { isSecret: _, ...place }]) => [
    id,
    place,
  ]);
  const byId = (one: unknown[], other: unknown[]) => (String(one[0]) < String(other[0]) ? -1 : 1);
  expect(asked.sort(byId)).toEqual(served.sort(byId));
  const client = new MandateClient({ url: "http://127.0.0.1:1" });
  for (const { id } of table) expect(typeof Reflect.get(client, id), id).toBe("function");
});

test("ids are unique, and no two routes answer the same request", () => {
  expect(new Set(table.map(({ id }) => id)).size).toBe(table.length);
  const places = table.map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, ":")}`);
  expect(new Set(places).size).toBe(places.length);
});

test("who reads needs to be a viewer; who changes anything needs to be more", () => {
  // A reader's own place in the inbox, and commands and pins, which ask for a role themselves.
  const own = ["markInboxRead", "executeCommand", "putPin", "deletePin"];
  // What lies in a folder, and what a repository would have agents told, is not for whoever looks.
  const guarded = ["findFiles", "getWaiting"];
  // They bind operators.
  const limits = ["putLimit", "deleteLimit"];
  for (const { id, method, role, tag } of routes) {
    const least =
      tag === "tokens" || limits.includes(id)
        ? "admin"
        : (method === "GET" && !guarded.includes(id)) || own.includes(id)
          ? "viewer"
          : "operator";
    expect([id, role]).toEqual([id, least]);
  }
});

test("all of it can be described", () => {
  const document = openApiOf(table);
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const ids = operations.map((one) => (one as { operationId?: string }).operationId);
  for (const { id } of table) expect(ids).toContain(id);
  expect(JSON.stringify(document)).toContain("nextCursor` of the previous page");
});
