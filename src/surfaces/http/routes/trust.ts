import { z } from "zod";
import { requireTrustable } from "../../../application/judge-waiting.ts";
import { readWaiting, requireWaiting } from "../../../application/waiting-content.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { defineRoute } from "../route.ts";
import { hash, listOf, plainData } from "./shared-schemas.ts";

export const waitingRow = z.object({
  kind: z.enum(["configuration", "profile", "skill"]),
  name: z.string(),
  description: z.string().optional().meta({ description: "What the content is for." }),
  file: z.string(),
  hash: z.string(),
  isChanged: z
    .literal(true)
    .optional()
    .meta({ description: "Earlier content of the same file was trusted." }),
});

const waitingDetail = waitingRow.extend({
  fields: listOf(
    z.object({ field: z.string(), value: plainData<unknown>("The value in the file.") }),
  ).meta({ description: "The fields of a profile." }),
  prompt: z.string(),
  files: listOf(
    z.object({ path: z.string(), bytes: z.number(), text: z.string().nullable() }),
  ).meta({ description: "The files of a skill; text is null when a file is binary or too long." }),
});

const trustedList = z.object({
  items: listOf(z.object({ hash: z.string(), name: z.string(), file: z.string() })),
});

const tag = "trust";
const params = z.object({ hash });
const mostTrusted = 1000;

export const trustRoutes = [
  defineRoute({
    id: "getWaiting",
    method: "GET",
    path: "/waiting/:hash",
    summary: "Shows the whole content behind a hash that waits to be trusted.",
    tag,
    // The content includes prompts and server declarations.
    role: "operator",
    params,
    reply: waitingDetail,
    async handle({ params: { hash: wanted } }, { runtime: { control } }) {
      await control.view.refresh();
      return readWaiting(control, wanted);
    },
  }),
  defineRoute({
    id: "trustWaiting",
    method: "POST",
    path: "/waiting/:hash/trust",
    summary: "Trusts exactly this content of a project, until it changes.",
    tag,
    role: "operator",
    params,
    reply: waitingRow,
    async handle({ params: { hash: wanted }, principal }, { runtime: { control, toolbox } }) {
      await control.view.refresh();
      const waiting = requireWaiting(control, wanted);
      requireTrustable(control, waiting, toolbox.names);
      const { file, name } = waiting;
      await control.plane.trust(wanted, { file, name }, principal);
      await control.view.refresh(true);
      return waiting;
    },
  }),
  defineRoute({
    id: "listTrusted",
    method: "GET",
    path: "/trusted",
    summary: "Lists trusted content, with the files at that time.",
    tag,
    role: "viewer",
    reply: trustedList,
    async handle(_request, { runtime: { control } }) {
      const all = await control.plane.trustedContent();
      const items = all.slice(0, mostTrusted).map(({ file, hash: of, name }) => {
        return { hash: of, name, file };
      });
      return { items };
    },
  }),
  defineRoute({
    id: "withdrawTrust",
    method: "DELETE",
    path: "/trusted/:hash",
    summary: "Withdraws trust: the content has no effect from the next delegation on.",
    tag,
    role: "operator",
    params,
    reply: null,
    status: 204,
    async handle({ params: { hash: of }, principal }, { runtime: { control } }) {
      if (await control.plane.withdrawTrust(of, principal)) {
        await control.view.refresh(true);
        return null;
      }
      throw new MandateError("conflict", `No trusted content has the hash ${of.slice(0, 12)}.`);
    },
  }),
];
