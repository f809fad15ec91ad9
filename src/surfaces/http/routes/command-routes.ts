import type { z } from "zod";
import { commandContext } from "../../../application/commands/command-context.ts";
import { completeCommand } from "../../../application/commands/complete-command.ts";
import { executeCommand } from "../../../application/commands/execute-command.ts";
import { hotkeysOf } from "../../../application/commands/hotkeys-of.ts";
import { fromUser } from "../../../application/commands/user-text.ts";
import { defineRoute, type Route } from "../route.ts";
import {
  commandBody,
  commandReply,
  completion,
  completionQuery,
  hotkeyList,
} from "../shapes/command-shapes.ts";
import { folderOf, requireServed, sessionOf } from "./place-of-request.ts";

const tag = "commands";

export const commandRoutes: readonly Route[] = [
  defineRoute({
    id: "executeCommand",
    method: "POST",
    path: "/commands",
    summary:
      "Executes a slash command that a person typed, with the same fixed replies everywhere.",
    tag,
    // Each command asks for the role that it takes itself, as on every other surface.
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
    summary: "Says what a person who typed this could mean.",
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
    summary: "Lists the keys that profiles ask for, and what each of them types.",
    tag,
    role: "viewer",
    reply: hotkeyList,
    handle: (_request, { runtime }) => hotkeysOf(runtime.profiles.all()),
  }),
];
