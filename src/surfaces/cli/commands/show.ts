import { describeAnswered } from "../../../application/commands/describe-run.ts";
import { keptWorkIn } from "../../../application/kept-copies.ts";
import { findPlaces } from "../../../control/places.ts";
import type { Delegation } from "../../../events/delegation.ts";
import type { StoredEvent } from "../../../events/event.ts";
import { childrenByParent } from "../../../events/run-state.ts";
import type { Store } from "../../../ports/store.ts";
import { earlyAnswerIn, earlyAnswerOf, infoOf } from "../../../sessions/delegation-result.ts";
import { type Arguments, type Command, jsonOption } from "../command.ts";
import { describeDelegation } from "../describe-delegation.ts";
import { drawTree } from "../draw-tree.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import type { Io } from "../io.ts";
import { indented, printable, printableJson, printJson } from "../printable.ts";
import { keptChanges, resumeHint, tellKept } from "../run-hints.ts";
import { RunView } from "../run-view.ts";
import { lineWidth, styleFor } from "../style.ts";
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
  io.stdout.write(
    delegation
      ? await showDelegation(store, view, delegation, given.flag("json"), io)
      : await showRun(store, view, given.flag("json"), io),
  );
  return exitCode.done;
}

async function showDelegation(
  store: Store,
  view: RunView,
  delegation: Delegation,
  asJson: boolean,
  io: Io,
): Promise<string> {
  const { about, document } = await describedDelegation(store, view, delegation, io);
  if (asJson) return `${printableJson(document, 2)}\n`;
  return describeDelegation(about, styleFor(io.stdout, io), io.program);
}

/** What is known of a delegation, as a document and for a page. */
export async function describedDelegation(
  store: Store,
  view: RunView,
  delegation: Delegation,
  io: Io,
) {
  const events = await eventsOf(store, delegation.id);
  const { home } = findPlaces(io.environment);
  const [kept] = await keptWorkIn({ store, home }, [delegation]);
  const document = {
    ...(await delegationDocument(store, view, delegation, events)),
    changesKept: kept !== undefined,
  };
  const shown = { delegation, events, now: io.now(), columns: lineWidth(io.stdout) };
  return { document, about: { ...document, ...shown } };
}

async function showRun(store: Store, view: RunView, asJson: boolean, io: Io): Promise<string> {
  const { id, task, application, workspace, startedAt, finishedAt, outcome } = view.state;
  const result = await readResult(store, { runId: id, delegationId: null });
  const state = outcome ?? (view.isInterrupted ? "interrupted" : "running");
  const about = { runId: id, task, application, workspace, state, startedAt, finishedAt };
  const answer = earlyAnswerIn(view.state);
  if (asJson) return `${printableJson({ ...about, ...(answer && { answer }), result }, 2)}\n`;
  await view.readBudgets();
  const isAnswered = answer !== null && state === "running";
  const said = isAnswered ? describeAnswered(answer.running.length) : state;
  return describeRun(view, said, result?.result ?? answer?.text, io);
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
  const answer = earlyAnswerOf(view.state, delegation.id);
  return {
    runId: view.state.id,
    delegationId: delegation.id,
    parentId: delegation.parentId,
    profile: delegation.profile,
    ...(delegation.client !== undefined && { client: delegation.client }),
    status:
      view.isInterrupted && delegation.status !== "closed" ? "interrupted" : delegation.status,
    contractHash: delegation.contractHash,
    contract: await store.readContract(delegation.id),
    receipt: created?.payload.receipt ?? [],
    ...(answer && { answer }),
    result: await readResult(store, { runId: view.state.id, delegationId: delegation.id }),
  };
}

function describeRun(view: RunView, state: string, result: string | undefined, io: Io): string {
  const style = styleFor(io.stdout, io);
  const { paint } = style;
  const { id, workspace, startedAt } = view.state;
  const heading = (text: string) => ["", paint.strong(text)];
  return [
    `${paint.strong(id)}  ${state}  started ${new Date(startedAt).toISOString()}`,
    ...(workspace === null ? [] : [`workspace ${printable(workspace)}`]),
    ...heading("Task"),
    indented(view.state.task),
    ...heading("Agents"),
    ...drawTree(view, style, { now: io.now(), columns: lineWidth(io.stdout) }),
    ...(result === undefined ? [] : [...heading("Result"), indented(result)]),
    ...heading("Look closer"),
    `  ${io.program} show ID       one agent, with its contract`,
    `  ${io.program} logs ${id}  every event`,
    "",
  ].join("\n");
}

export const treeCommand: Command = {
  name: "tree",
  usage: "[options] [RUN]",
  about:
    "Shows a run's agents as a tree: what each waits on or how it ended, the tokens that it and its\n" +
    "sub-agents used of its budget, cost and time. Without an id, the latest run.",
  options: { json: jsonOption },
  words: { least: 0, most: 1 },
  run: (given, io) =>
    withStore(io, async (store) => {
      const { runId } = await findTarget(store, given.words[0], io);
      const view = await RunView.read(store, runId);
      await view.readBudgets();
      if (given.flag("json")) {
        printJson(io, treeDocument(view));
        return exitCode.done;
      }
      for (const line of treeText(view, io)) io.stdout.write(`${line}\n`);
      if (view.isInterrupted) io.stderr.write(`\n${resumeHint(view.state, io)}\n`);
      tellKept(await keptChanges(store, view.state, io), io);
      return exitCode.done;
    }),
};

function treeText(view: RunView, io: Io): string[] {
  return drawTree(view, styleFor(io.stdout, io), { now: io.now(), columns: lineWidth(io.stdout) });
}

interface TreeNode extends ReturnType<typeof infoOf> {
  readonly budget: number | null;
  readonly refusals: number;
  readonly children: readonly TreeNode[];
}

function treeDocument(view: RunView) {
  const { state } = view;
  const children = childrenByParent(state);
  const below = (parentId: string | null): TreeNode[] =>
    (children.get(parentId) ?? []).map((delegation) => {
      const { budget, refusals } = view.notesOf(delegation.id);
      return {
        ...infoOf(state, delegation, view.isInterrupted),
        budget,
        refusals,
        children: below(delegation.id),
      };
    });
  return {
    runId: state.id,
    task: state.task,
    application: state.application,
    workspace: state.workspace,
    state: state.outcome ?? (view.isInterrupted ? "interrupted" : "running"),
    startedAt: state.startedAt,
    finishedAt: state.finishedAt,
    delegations: below(null),
  };
}
