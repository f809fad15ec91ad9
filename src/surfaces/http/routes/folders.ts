import { z } from "zod";
import { FileFinder } from "../../../application/find-files.ts";
import { consentModes } from "../../../control/folders/decide-consent.ts";
import { refusalOf } from "../../../control/folders/folder-consents.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import { isInside } from "../../mcp/client-folders.ts";
import { defineRoute, type Host } from "../route.ts";
import { workspaceOf } from "./place-of-request.ts";
import { listOf } from "./shared-schemas.ts";

const mode = z.enum(consentModes as readonly ["in-place", "copy", "read-only"]);

const folderRow = z.object({
  folder: z.string(),
  mode: mode.nullable().meta({
    description: "How the caller's agents work there; null: the caller has to consent first.",
  }),
  answeredAt: z
    .number()
    .nullable()
    .meta({ description: "When the caller answered for exactly this folder; null: never." }),
});

const folderList = z.object({
  items: listOf(folderRow).meta({
    description: "The folders of this server, and those below them that the caller answered for.",
  }),
});

const folder = z.string().min(1).max(4096);
const consentBody = z.strictObject({ folder, mode });
const forgottenFolder = z.strictObject({ folder });

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

const tag = "folders";

/**
 * The folders of this server: consent to work in them, where a caller answers for its own runs, and
 * their files.
 */
export const folderRoutes = [
  defineRoute({
    id: "listFolders",
    method: "GET",
    path: "/folders",
    summary: "Lists the folders of this server, with how the caller's agents may work in them.",
    tag,
    role: "viewer",
    reply: folderList,
    async handle({ principal }, host) {
      const answers = new Map((await answersOf(host, principal)).map((one) => [one.folder, one]));
      const all = [...new Set([...host.workspaces, ...answers.keys()])];
      return {
        items: await Promise.all(
          all.map(async (each) => ({
            folder: each,
            mode: await modeIn(host, each, principal),
            answeredAt: answers.get(each)?.updatedAt ?? null,
          })),
        ),
      };
    },
  }),
  defineRoute({
    id: "consentToFolder",
    method: "PUT",
    path: "/folders",
    summary: "Answers how the caller's agents may work in a folder and below it.",
    tag,
    role: "operator",
    body: consentBody,
    reply: folderRow,
    async handle({ body, principal }, host) {
      const { folders } = host.runtime;
      const real = await workspaceOf(host, body.folder);
      const decision = await folders.decide(real, principal.id, { answer: body.mode });
      if (decision.kind !== "allowed") {
        throw new MandateError("refused-by-policy", refusalOf(decision, real));
      }
      await folders.accept(real, decision, principal);
      const answers = await answersOf(host, principal);
      return {
        folder: real,
        mode: await modeIn(host, real, principal),
        answeredAt: answers.find((one) => one.folder === real)?.updatedAt ?? null,
      };
    },
  }),
  defineRoute({
    id: "forgetFolder",
    method: "DELETE",
    path: "/folders",
    summary: "Withdraws the caller's answer for exactly this folder.",
    tag,
    role: "operator",
    query: forgottenFolder,
    reply: null,
    status: 204,
    async handle({ principal, query }, host) {
      const answers = await answersOf(host, principal);
      // A folder that is gone has no real path any more: its answer is found by the stored one.
      const isKnown = answers.some((one) => one.folder === query.folder);
      const { plane } = host.runtime.control;
      if (isKnown && (await plane.withdrawConsent(query.folder, principal))) return null;
      throw new MandateError("conflict", "You have no answer for exactly this folder.");
    },
  }),
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

/** The caller's answers for folders that this server may show. */
async function answersOf({ runtime: { control }, workspaces }: Host, { id }: Principal) {
  const answers = await control.plane.consents(id);
  return answers.filter((one) => workspaces.some((root) => isInside(root, one.folder)));
}

async function modeIn({ runtime: { folders } }: Host, path: string, { id }: Principal) {
  const decision = await folders.decisionFor(path, id);
  return decision.kind === "allowed" ? decision.mode : null;
}
