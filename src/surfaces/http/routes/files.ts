import { z } from "zod";
import { FileFinder } from "../../../application/find-files.ts";
import type { Runtime } from "../../../runtime.ts";
import { defineRoute, type Route } from "../route.ts";
import { workspaceOf } from "./place-of-request.ts";
import { listOf } from "./shared-schemas.ts";

export const fileQuery = z.strictObject({
  workspace: z
    .string()
    .max(4096)
    .optional()
    .meta({ description: "One of the server's folders, or one below; the first unless said." }),
  q: z.string().max(200).optional().meta({ description: "Letters of the path, in their order." }),
});

export const fileList = z.object({
  workspace: z.string().meta({ description: "The folder that the paths are below." }),
  items: listOf(z.object({ path: z.string() })).meta({
    description: "Those that fit best first, 50 at most.",
  }),
  isPartial: z
    .boolean()
    .meta({ description: "There are more files in the folder than were looked at." }),
});

const mostFiles = 50;

const finders = new WeakMap<Runtime, FileFinder>();

function finderOf(runtime: Runtime): FileFinder {
  const finder = finders.get(runtime) ?? new FileFinder(runtime);
  finders.set(runtime, finder);
  return finder;
}

export const fileRoutes: readonly Route[] = [
  defineRoute({
    id: "findFiles",
    method: "GET",
    path: "/files",
    summary: "Finds files of a folder by letters of their paths, for mentioning them in a task.",
    tag: "files",
    // What there is in a folder is for those who may have work done in it.
    role: "operator",
    query: fileQuery,
    reply: fileList,
    async handle({ query, signal }, host) {
      const workspace = await workspaceOf(host, query.workspace);
      const question = { wanted: query.q ?? "", most: mostFiles, signal };
      const { isPartial, paths } = await finderOf(host.runtime).find(workspace, question);
      return { workspace, items: paths.map((path) => ({ path })), isPartial };
    },
  }),
];
