import { z } from "zod";
import { defineRoute, type Route } from "./route.ts";

/** What a server has of itself, whatever it serves. `table` gives all routes, these included. */
export function coreRoutes(table: () => readonly Route[]): readonly Route[] {
  return [
    defineRoute({
      id: "getOpenApi",
      method: "GET",
      path: "/openapi.json",
      summary: "This API as an OpenAPI document",
      tag: "system",
      role: "viewer",
      reply: z.looseObject({ openapi: z.string() }),
      async handle() {
        const { openApiOf } = await import("./openapi/openapi.ts");
        return { ...openApiOf(table()) };
      },
    }),
  ];
}
