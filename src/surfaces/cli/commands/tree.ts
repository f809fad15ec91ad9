import { childrenByParent } from "../../../events/run-state.ts";
import { infoOf } from "../../../sessions/delegation-result.ts";
import { type Command, jsonOption } from "../command.ts";
import { drawTree } from "../draw-tree.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import type { Io } from "../io.ts";
import { keptChanges, tellKept } from "../kept-changes.ts";
import { lineWidth } from "../line-width.ts";
import { printableJson } from "../printable.ts";
import { resumeHint } from "../resume-hint.ts";
import { RunView } from "../run-view.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

export const treeCommand: Command = {
  name: "tree",
  usage: "[options] [RUN]",
  about:
    "Shows a run's agents as a tree: what each waits on or how it ended, the tokens it and those\n" +
    "below it used of its cap, cost and time. Without an id, the latest run.",
  options: { json: jsonOption },
  words: { least: 0, most: 1 },
  run: (given, io) =>
    withStore(io, async (store) => {
      const { runId } = await findTarget(store, given.words[0], io);
      const view = await RunView.read(store, runId);
      await view.readBudgets();
      if (given.flag("json")) {
        io.stdout.write(`${printableJson(treeDocument(view), 2)}\n`);
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
