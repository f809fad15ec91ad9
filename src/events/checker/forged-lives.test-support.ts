import type { LooseEvent } from "./forged-log.test-support.ts";
import {
  inRun,
  insert,
  move,
  patch,
  patchSeal,
  repeat,
  type SeededBug,
  withContract,
} from "./seeded-bug.test-support.ts";

/** Delegations that do not live as they should: what a runtime with one bug would write. */
export const forgedLives: readonly SeededBug[] = [
  inRun("rich", "a delegation is created twice", "I2", (events, find) =>
    repeat(events, find("agent.subagent_created", "middle")),
  ),
  inRun("rich", "a delegation of ours passes for another program's", "I2", (events, find) =>
    patch(events, find("agent.subagent_created", "middle"), { client: "desk" }),
  ),
  inRun("rich", "a delegation starts before it is created", "I2", (events, find) =>
    move(events, find("agent.subagent_started", "flaky"), find("agent.subagent_created", "flaky")),
  ),
  inRun("rich", "it starts twice", "I3", (events, find) =>
    repeat(events, find("agent.subagent_started", "flaky")),
  ),
  inRun("rich", "an attempt is skipped", "I3", (events, find) => {
    const sealed = patchSeal(events, find("agent.subagent_closed", "flaky"), { attempts: 3 });
    return patch(sealed, find("agent.subagent_attempt", "flaky", 2), { attempt: 3 });
  }),
  withContract("there are more attempts than the contract allows", "I3", "flaky", (contract) => {
    contract.execution.max_retries = 0;
  }),
  inRun("rich", "it is completed without having handed in anything", "I4", (events, find) =>
    events.toSpliced(find("agent.subagent_waiting_for_merge", "greedy"), 1),
  ),
  inRun("rich", "a tool runs before the start", "I4", (events, find) =>
    insert(events, find("agent.subagent_started", "middle"), {
      type: "agent.tool_started",
      payload: { call_id: "c", tool: "list_files" },
    }),
  ),
  inRun("rich", "it goes on working after it has handed in", "I4", (events, find) =>
    insert(events, find("agent.subagent_completed", "middle"), {
      type: "agent.interjected",
      payload: { from: "runtime", severity: "info", message: "go on" },
    }),
  ),
  inRun("rich", "it is closed without having ended", "I4", (events, find) =>
    events.toSpliced(find("agent.subagent_failed", "failing"), 1),
  ),
  inRun("rich", "a question is answered twice", "I4", (events, find) =>
    repeat(events, find("agent.answered", "asker")),
  ),
  inRun("rich", "a message is delivered twice", "I10", (events, find) =>
    repeat(events, find("agent.interjected", "asker")),
  ),
  inRun("rich", "a message is delivered that was not sent", "I10", (events, find) =>
    events.toSpliced(find("agent.message_sent", "asker"), 1),
  ),
  inRun("rich", "a message is delivered before it is sent", "I10", (events, find) =>
    move(events, find("agent.interjected", "asker"), find("agent.message_sent", "asker")),
  ),
  inRun("rich", "a message is delivered to another agent", "I10", (events, find) => {
    const other = events[find("agent.subagent_started", "middle")]?.sub_agent_id ?? "";
    return events.map((event, at) =>
      at === find("agent.interjected", "asker") ? { ...event, sub_agent_id: other } : event,
    );
  }),
  inRun("rich", "a message is delivered in other words", "I10", (events, find) =>
    patch(events, find("agent.interjected", "asker"), { message: "one thing less" }),
  ),
  inRun("rich", "a person's message is delivered as its caller's", "I10", (events, find) =>
    patch(events, find("agent.interjected", "asker"), { from: "caller" }),
  ),
  inRun("rich", "a message is sent twice", "I10", (events, find) =>
    repeat(events, find("agent.message_sent", "asker")),
  ),
  inRun("rich", "a message is sent a second time once it was read", "I10", (events, find) => {
    const sent = events.slice(find("agent.message_sent", "asker")).slice(0, 1);
    return events.toSpliced(find("agent.interjected", "asker", 2) + 1, 0, ...sent);
  }),
  inRun("rich", "a message is sent to one that has handed in", "I4", (events, find) =>
    insert(events, find("agent.subagent_completed", "asker"), {
      type: "agent.message_sent",
      payload: { message_id: "m", from: "person", message: "too late" },
    }),
  ),
  inRun("rich", "usage is told after the close", "I5", (events, find) => {
    const closed = find("agent.subagent_closed", "greedy");
    const settled = events.slice(find("agent.budget_settled", "greedy", 2)).slice(0, 1);
    return events.toSpliced(closed + 1, 0, ...settled);
  }),
  inRun("rich", "it is closed twice", "I5", (events, find) =>
    repeat(events, find("agent.subagent_closed", "greedy")),
  ),
  inRun("rich", "it is closed for another reason than it failed", "I6", (events, find) =>
    patch(events, find("agent.subagent_closed", "failing"), { close_reason: "timeout" }),
  ),
  inRun("rich", "it is closed under another name", "I6", (events, find) =>
    patch(events, find("agent.subagent_closed", "failing"), { sub_agent_id: "ffffff" }),
  ),
  inRun("rich", "it is closed for a reason that does not exist", "I6", (events, find) =>
    patch(events, find("agent.subagent_closed", "failing"), { close_reason: "bored" }),
  ),
  inRun("rich", "it hands in two outputs", "I9", (events, find) =>
    repeat(events, find("agent.subagent_waiting_for_merge", "greedy")),
  ),
  inRun("resumed", "a takeover does not raise the fence", "I9", (events) =>
    events.map((event) =>
      event.type === "run.resumed" || event.type === "agent.resumed"
        ? ({ ...event, payload: { ...event.payload, fence: 1 } } as LooseEvent)
        : event,
    ),
  ),
  inRun("resumed", "a zombie resumes with an old fence", "I9", (events, find) =>
    patch(events, find("agent.resumed", "sleeper"), { fence: 1 }),
  ),
  inRun("cancelled", "a parent is closed before its child", "I13", (events, find) =>
    move(
      events,
      find("agent.subagent_closed", "sleeper"),
      find("agent.subagent_closed", "middle") + 1,
    ),
  ),
  inRun("rich", "the run ends while a delegation is open", "I14", (events, find) =>
    move(events, find("run.finished"), find("agent.subagent_closed", "lead")),
  ),
  inRun("rich", "a run succeeds though a failure reached nobody", "I14", (events, find) => {
    const failed = events[find("agent.subagent_failed", "failing")]?.sub_agent_id;
    return events.map((event) =>
      event.type === "agent.tool_completed" && event.payload.delivered?.includes(failed ?? "")
        ? { ...event, payload: { ...event.payload, delivered: [] } }
        : event,
    );
  }),
  inRun("rich", "something happens after the end", "I14", (events) => [
    ...events,
    { type: "run.planned", at: 1, payload: { by: "a", call_id: "1", steps: [] } },
  ]),
  inRun("rich", "the run starts twice", "I14", (events, find) =>
    repeat(events, find("run.started")),
  ),
  inRun("rich", "an output is not the one its hash names", "I15", (events, find) =>
    patch(events, find("agent.subagent_waiting_for_merge", "greedy"), { output: "better" }),
  ),
  inRun("rich", "a seal claims more than happened", "I15", (events, find) =>
    patchSeal(events, find("agent.subagent_closed", "greedy"), { tool_calls: 99 }),
  ),
  inRun("resumed", "a worker takes a run over from itself", "I18", (events, find) => {
    const started = events[find("run.started")];
    if (started?.type !== "run.started") throw new Error("the run does not start");
    return patch(events, find("run.resumed"), { worker: started.payload.worker });
  }),
];
