import { type Delegation, shownName } from "../../../../src/events/delegation.ts";
import { closeReasonWords } from "../../components/close-reason-words.ts";
import { Markdown } from "../../components/markdown/markdown.tsx";
import { Text } from "../../components/text.tsx";
import { isOperator, useMe } from "../../data/use-me.ts";
import { Link } from "../../router/link.tsx";
import type { RunView } from "./replay/use-replay.ts";
import { ReplyForm } from "./reply-form.tsx";
import { RunFiles } from "./run-files.tsx";
import type { Workflows } from "./workflow/use-workflows.ts";
import { WorkingNow } from "./working-now.tsx";

interface RunOutcomeProps extends Pick<Workflows, "nameOf"> {
  readonly shown: RunView;
  /** The present state is shown, so people can act. */
  readonly isNow: boolean;
  /** A worker carries it out. */
  readonly isRunning: boolean;
}

/** What came of a run, first: its result, the files it changed, what failed, and the next message. */
export function RunOutcome({ shown, isNow, isRunning, nameOf }: RunOutcomeProps) {
  const mayAct = isOperator(useMe()) && isNow;
  const all = [...shown.state.delegations.values()];
  const root = all.find(({ parentId }) => parentId === null);
  // The end of the root is the result above.
  const failed = all.filter((one) => one !== root && isFailed(one));
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <section
        aria-label="Outcome"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
        tabIndex={0}
        className="row min-h-0 flex-1 overflow-x-hidden overflow-y-auto overscroll-contain"
      >
        <Result root={root} isRunning={isRunning} />
        {isNow && isRunning && <WorkingNow feed={shown} nameOf={nameOf} />}
        {failed.length > 0 && <Failures failed={failed} />}
        {isNow && <RunFiles runId={shown.state.id} />}
      </section>
      {mayAct && root !== undefined && <ReplyForm root={root} all={all} />}
    </div>
  );
}

function isFailed(delegation: Delegation): boolean {
  return delegation.status === "closed" && delegation.finalStatus === "failed";
}

interface ResultProps {
  readonly root: Delegation | undefined;
  readonly isRunning: boolean;
}

function Result({ root, isRunning }: ResultProps) {
  const isClosed = root?.status === "closed";
  const isDone = isClosed && root.finalStatus === "completed";
  const output = root !== undefined && "output" in root ? root.output : null;
  const text = isClosed && !isDone ? (root.failure?.error ?? "") : (output?.text ?? "");
  if (text === "") {
    if (isRunning) return null;
    return (
      <p className="px-4 py-3 text-soft">
        {isClosed
          ? "This run ended without a text."
          : "No result yet: no worker owns this run. Resume it, or stop it."}
      </p>
    );
  }
  return (
    <section
      aria-label="Result"
      className={`border-b border-line border-l-[3px] px-4 py-3 ${!isClosed ? "border-l-busy" : isDone ? "border-l-good" : "border-l-bad"}`}
    >
      <h2 className="mb-1 text-xs font-semibold text-soft">
        {!isClosed
          ? "Answer, while sub-agents still run"
          : isDone
            ? "Result"
            : `Why it ended: ${closeReasonWords(root.closeReason)}`}
      </h2>
      <Markdown>{text}</Markdown>
      {isClosed && !isDone && output !== null && output.text !== "" && (
        <details className="mt-2">
          <summary className="cursor-pointer text-soft hover:text-ink">Last output</summary>
          <Markdown className="mt-1">{output.text}</Markdown>
        </details>
      )}
    </section>
  );
}

const mostNamed = 8;

function Failures({ failed }: { readonly failed: readonly Delegation[] }) {
  return (
    <section aria-label="Not completed" className="border-b border-line px-4 py-3">
      <h2 className="mb-1 text-xs font-semibold text-soft">Not completed ({failed.length})</h2>
      <ul>
        {failed.slice(0, mostNamed).map((delegation) => (
          <li key={delegation.id} className="flex min-w-0 items-baseline gap-2">
            <Link
              to={`/delegations/${delegation.id}`}
              className="max-w-1/2 shrink-0 truncate text-accent hover:underline"
            >
              <Text most={60}>{shownName(delegation)}</Text>
            </Link>
            <Text className="min-w-0 truncate text-soft">{delegation.title}</Text>
            {delegation.status === "closed" && (
              <span className="ml-auto shrink-0 text-xs text-bad">
                {closeReasonWords(delegation.closeReason)}
              </span>
            )}
          </li>
        ))}
        {failed.length > mostNamed && (
          <li className="text-soft">and {failed.length - mostNamed} more, in the tree</li>
        )}
      </ul>
    </section>
  );
}
