import { z } from "zod";
import { FileFinder } from "../../../application/find-files.ts";
import type { Runtime } from "../../../runtime.ts";
import { defineRoute } from "../route.ts";
import { workspaceOf } from "./place-of-request.ts";
import { listOf } from "./shared-schemas.ts";

const fileQuery = z.strictObject({
  workspace: z
    .string()
    .max(4096)
    .optional()
    .meta({ description: "One of the server's folders, or a folder below; default: the first." }),
  q: z.string().max(200).optional().meta({ description: "Letters of the path, in order." }),
});

const fileList = z.object({
  workspace: z.string().meta({ description: "The folder of the paths." }),
  items: listOf(z.object({ path: z.string() })).meta({
    description: "Best matches first, at most 50.",
  }),
  isPartial: z.boolean().meta({ description: "The folder has more files than were searched." }),
});

const mostFiles = 50;

const finders = new WeakMap<Runtime, FileFinder>();

function finderOf(runtime: Runtime): FileFinder {
  const finder = finders.get(runtime) ?? new FileFinder(runtime);
  finders.set(runtime, finder);
  return finder;
}

export const fileRoutes = [
  defineRoute({
    id: "findFiles",
    method: "GET",
    path: "/files",
    summary: "Finds files of a folder by letters of their paths, to mention them in a task.",
    tag: "files",
    // File names are shown only to roles that can start runs in the folder.
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
