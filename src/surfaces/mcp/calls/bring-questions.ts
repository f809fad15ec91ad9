import type { ServerContext } from "@modelcontextprotocol/server";
import { holdsRole } from "../../../control/records/require-role.ts";
import type { ClientSession } from "../client-session.ts";
import type { OpenCall, PutQuestion } from "./open-call.ts";
import type { OpenQuestion } from "./open-question.ts";
import { formFor, readReply } from "./question-form.ts";

/** Puts the questions that come up during a call to the client's person, as they come (2025-11-25). */
export async function bringQuestions(
  call: OpenCall,
  session: ClientSession,
  context: ServerContext,
): Promise<void> {
  const isDone = call.result.then(
    () => true,
    () => true,
  );
  for (;;) {
    const isOver = await Promise.race([isDone, call.whenQuestion().then(() => false)]);
    if (isOver) return;
    for (const put of call.take()) void bring(put, session, context);
  }
}

async function bring(
  { isOver, question }: PutQuestion,
  session: ClientSession,
  { mcpReq }: ServerContext,
): Promise<void> {
  const now = session.runtime.parts.clock.now();
  try {
    const response = await mcpReq.send(
      { method: "elicitation/create", params: { ...formFor(question, now) } },
      // At its deadline the question is over, whether somebody looks at the form or not.
      { signal: isOver, timeout: Math.max(1, question.deadlineAt - now) },
    );
    await takeReply(session, question, response);
  } catch {
    // Taken back, too late, or the client could not show it: it stays in the inbox.
    session.calls.decline(question.id);
  }
}

/** Without an answer the question stays where it is, until its deadline. */
export async function takeReply(
  session: ClientSession,
  question: OpenQuestion,
  response: unknown,
): Promise<void> {
  const reply = readReply(question, response);
  if (reply === undefined || !holdsRole("operator", session.principal)) {
    session.calls.decline(question.id);
    return;
  }
  // Somebody else was faster, or its agent has ended: then there is nothing left to answer.
  await session.runtime.engine.answer(question.id, reply).catch(() => false);
}
