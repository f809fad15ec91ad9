import type { Principal } from "../../control/records/principal.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { TestEngine } from "../../testing/engine-fixture.ts";
import type { CommandPlace } from "../engine-steering.ts";
import { commandContext } from "./command-context.ts";
import { type CommandReply, executeCommand, fromUser } from "./execute-command.ts";

export const operator: Principal = { id: "otto", role: "operator" };
export const viewer: Principal = { id: "vera", role: "viewer" };

/** Says something to the whole product, in its workspace unless another place is named. */
export function say(
  engine: TestEngine,
  text: string,
  by: Principal = operator,
  place: CommandPlace = {},
): Promise<CommandReply> {
  const here = { workspace: engine.workspace, ...place };
  return executeCommand(fromUser(text, by), commandContext(engine, by, here));
}

/** The reply of what worked, with each id by the letter of its kind: `oracle#D`, `run R`. */
export async function hear(
  engine: TestEngine,
  text: string,
  by?: Principal,
  place?: CommandPlace,
): Promise<string> {
  const { ok, reply } = await say(engine, text, by, place);
  if (!ok) throw new Error(reply);
  return withoutIds(reply);
}

export function withoutIds(text: string): string {
  return text
    .replaceAll(/\br[0-9a-f]{6}\b/g, "R")
    .replaceAll(/\bq[0-9a-f]{6}\b/g, "Q")
    .replaceAll(/\b[0-9a-f]{6}\b/g, "D")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC/g, "TIME");
}

/** What the control log has of commands: who, what, and what came of it. */
export async function notesOf({ store }: Pick<TestEngine, "store">): Promise<readonly object[]> {
  const notes: object[] = [];
  for await (const { payload, type } of store.readEvents({ runId: controlRunId })) {
    if (type === "command.executed") notes.push(payload);
  }
  return notes;
}

export function idsIn(reply: CommandReply): {
  readonly runId: string;
  readonly delegationId: string;
} {
  if (!reply.ok) throw new Error(reply.reply);
  return reply.data as { runId: string; delegationId: string };
}
