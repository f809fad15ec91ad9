import { z } from "zod";
import { defineRoute, type Route } from "../route.ts";

/** The route that every server has. `table` gives all routes, this one included. */
export function openApiRoute(table: () => readonly Route[]) {
  return defineRoute({
    id: "getOpenApi",
    method: "GET",
    path: "/openapi.json",
    summary: "This API as an OpenAPI document",
    tag: "system",
    role: "viewer",
    reply: z.looseObject({ openapi: z.string() }),
    async handle() {
      const { openApiOf } = await import("./openapi.ts");
      return { ...openApiOf(table()) };
    },
  });
}
