import type { Delegation } from "../../../events/delegation.ts";
import type { StoredEvent } from "../../../events/event.ts";
import type { Store } from "../../../ports/store.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import { describeDelegation } from "../describe-delegation.ts";
import { drawTree } from "../draw-tree.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import { indented } from "../indented.ts";
import type { Io } from "../io.ts";
import { printable, printableJson } from "../printable.ts";
import { RunView } from "../run-view.ts";
import { type Style, styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";
import { readResult } from "./result.ts";

export const showCommand: Command = {
  name: "show",
  usage: "[options] [ID]",
  about:
    "Shows a run: its task, its agents, its result. Or a delegation: its task, its contract, what it\n" +
    "asked for and was not granted, what was refused, its result and the evidence for it. Without an\n" +
    "id, the latest run.",
  options: { json: jsonOption },
  words: { least: 0, most: 1 },
  run: (given, io) => withStore(io, (store) => show(store, given, io)),
};

async function show(store: Store, given: Arguments, io: Io): Promise<number> {
  const target = await findTarget(store, given.words[0], io);
  const view = await RunView.read(store, target.runId);
  const delegation = target.delegationId && view.state.delegations.get(target.delegationId);
  const wantsJson = given.flag("json");
  const columns = io.stdout.isTerminal ? io.stdout.columns : 120;
  if (delegation) {
    const events = await eventsOf(store, delegation.id);
    const document = await delegationDocument(store, view, delegation, events);
    const style = styleFor(io.stdout, io);
    io.stdout.write(
      wantsJson
        ? `${printableJson(document, 2)}\n`
        : describeDelegation({ ...document, delegation, events, now: io.now(), columns }, style, io.program),
    );
    return exitCode.done;
  }
  await view.readBudgets();
  const result = await readResult(store, target);
  const { task, application, workspace, startedAt, finishedAt, outcome } = view.state;
  const state = outcome ?? (view.isInterrupted ? "interrupted" : "running");
  if (wantsJson) {
    const about = {
      runId: target.runId,
      task,
      application,
      workspace,
      state,
      startedAt,
      finishedAt,
      result,
    };
    io.stdout.write(`${printableJson(about, 2)}\n`);
    return exitCode.done;
  }
  io.stdout.write(describeRun(view, state, result?.result, io, styleFor(io.stdout, io)));
  return exitCode.done;
}

async function eventsOf(store: Store, delegationId: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({ delegationId })) events.push(event);
  return events;
}

async function delegationDocument(
  store: Store,
  view: RunView,
  delegation: Delegation,
  events: readonly StoredEvent[],
) {
  const created = events.find((event) => event.type === "agent.subagent_created");
  return {
    runId: view.state.id,
    delegationId: delegation.id,
    parentId: delegation.parentId,
    profile: delegation.profile,
    status:
      view.isInterrupted && delegation.status !== "closed" ? "interrupted" : delegation.status,
    contractHash: delegation.contractHash,
    contract: await store.readContract(delegation.id),
    receipt: created?.payload.receipt ?? [],
    result: await readResult(store, { runId: view.state.id, delegationId: delegation.id }),
  };
}

function describeRun(
  view: RunView,
  state: string,
  result: string | undefined,
  io: Io,
  style: Style,
): string {
  const { paint } = style;
  const { id, workspace, startedAt } = view.state;
  const heading = (text: string) => ["", paint.strong(text)];
  return [
    `${paint.strong(id)}  ${state}  started ${new Date(startedAt).toISOString()}`,
    ...(workspace === null ? [] : [`workspace ${printable(workspace)}`]),
    ...heading("Task"),
    indented(view.state.task),
    ...heading("Agents"),
    ...drawTree(view, style, { now: io.now(), columns }),
    ...(result === undefined ? [] : [...heading("Result"), indented(result)]),
    ...heading("Look closer"),
    `  ${io.program} show ID       one agent, with its contract`,
    `  ${io.program} logs ${id}  every event`,
    "",
  ].join("\n");
}
