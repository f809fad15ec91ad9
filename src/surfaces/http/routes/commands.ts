import { z } from "zod";
import { commandContext } from "../../../application/commands/command-context.ts";
import { completeCommand } from "../../../application/commands/complete-command.ts";
import { executeCommand, fromUser } from "../../../application/commands/execute-command.ts";
import { hotkeysOf } from "../../../application/commands/profile-triggers.ts";
import type { MandateErrorCode } from "../../../ports/mandate-error.ts";
import { defineRoute } from "../route.ts";
import { folderOf, requireServed, sessionOf } from "./place-of-request.ts";
import { listOf, plainData, runId, sessionName } from "./shared-schemas.ts";

const place = {
  session: sessionName.optional(),
  workspace: z.string().max(4096).optional(),
};

const commandBody = z.strictObject({
  text: z.string().min(1).max(1_000_000).meta({ description: "The text that a person typed." }),
  ...place,
  run: runId.optional().meta({ description: "The run that the person is viewing." }),
  readOnly: z.boolean().optional(),
});

export const commandReply = z.object({
  ok: z.boolean(),
  reply: z.string().meta({ description: "Fixed text for people." }),
  code: plainData<MandateErrorCode | null>("The error code; null: success."),
  data: plainData<unknown>("The same for programs."),
});

const completionQuery = z.strictObject({ prefix: z.string().max(4000), ...place });

const completion = z.object({
  items: listOf(z.object({ text: z.string(), description: z.string() })),
});

const hotkeyList = z.object({
  hotkeys: listOf(
    z.object({
      keys: z.string(),
      profile: z.string(),
      command: z.string(),
      needsText: z.boolean(),
    }),
  ),
  conflicts: listOf(z.string()),
});

const tag = "commands";

export const commandRoutes = [
  defineRoute({
    id: "executeCommand",
    method: "POST",
    path: "/commands",
    summary:
      "Executes a slash command that a person typed, with the same fixed replies everywhere.",
    tag,
    // Each command checks the role that it needs, as on every other surface.
    role: "viewer",
    body: commandBody,
    reply: commandReply,
    async handle({ body, principal }, host): Promise<z.infer<typeof commandReply>> {
      const { readOnly, run } = body;
      const workspace = await folderOf(host, body.workspace);
      const session = sessionOf(principal, body.session);
      const requireFolder = (folder: string | null) => requireServed(host, folder);
      const place = { by: principal, readOnly, requireFolder, run, session, workspace };
      const context = commandContext(host.runtime, principal, { ...place, isRealWorkspace: true });
      const reply = await executeCommand(fromUser(body.text, principal), context);
      await host.runtime.control.view.refresh();
      return reply.ok
        ? { ok: true, reply: reply.reply, code: null, data: reply.data }
        : { ok: false, reply: reply.reply, code: reply.code, data: null };
    },
  }),
  defineRoute({
    id: "completeCommand",
    method: "GET",
    path: "/commands/completion",
    summary: "Completes a command that a person has begun to type.",
    tag,
    role: "viewer",
    query: completionQuery,
    reply: completion,
    async handle({ principal, query }, host) {
      const workspace = await folderOf(host, query.workspace);
      const session = sessionOf(principal, query.session);
      const context = commandContext(host.runtime, principal, { session, workspace });
      return { items: await completeCommand(query.prefix, context) };
    },
  }),
  defineRoute({
    id: "listHotkeys",
    method: "GET",
    path: "/hotkeys",
    summary: "Lists the hotkeys of profiles, and the command that each one types.",
    tag,
    role: "viewer",
    reply: hotkeyList,
    handle: (_request, { runtime }) => hotkeysOf(runtime.profiles.all()),
  }),
];
