import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import { Empty } from "../../components/empty.tsx";
import { Id } from "../../components/id.tsx";
import { Problem } from "../../components/problem.tsx";
import { Text } from "../../components/text.tsx";
import { useFollowEnd } from "../../components/use-follow-end.ts";
import { client } from "../../data/client.ts";
import { useOpenAsks } from "../../data/open-asks.ts";
import { useLiveQuery } from "../../data/use-live-query.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { waitingQuestion } from "../../data/waiting-question.ts";
import { Link } from "../../router/link.tsx";
import { RunAsks } from "../inbox/run-asks.tsx";
import { ContinueForm } from "./continue-form.tsx";
import { ExportButtons, SessionTitle } from "./session-actions.tsx";
import { EntryView } from "./session-entry.tsx";
import { isOver } from "./session-status.ts";
import { useMessages } from "./use-messages.ts";

/** One conversation: its messages, and the form to continue it. */
export function SessionView({ sessionId }: { readonly sessionId: string }) {
  const me = useMe();
  const session = useLiveQuery({
    key: ["session", sessionId],
    load: (signal) => client.getSession({ sessionId }, { signal }),
    changedBy: ({ sub_agent_id: of }) => of === sessionId,
  });
  const { data: value } = session;
  if (session.error !== null && value === undefined) {
    return <Problem error={session.error} onRetry={session.refetch} />;
  }
  if (value === undefined) return null;
  const { context, problems, title } = value;
  const mayChange = isOperator(me);
  return (
    <>
      <header className="flex shrink-0 flex-col gap-1 border-b border-line px-4 py-2">
        <div className="flex min-w-0 flex-wrap items-center gap-2">
          <Link to="/sessions" className="text-accent sm:hidden">
            All
          </Link>
          <SessionTitle
            sessionId={value.sessionId}
            title={title}
            mayChange={mayChange}
            onRenamed={session.refetch}
          />
          <span className="ml-auto flex gap-2">
            <ExportButtons sessionId={value.sessionId} title={title} />
          </span>
        </div>
        <p className="flex flex-wrap gap-x-3 text-xs text-soft">
          <Id id={value.sessionId} />
          {context !== null && (
            <>
              <Text>{context.agentId}</Text>
              <Link className="text-accent hover:underline" to={`/runs/${context.runId}`}>
                run {context.runId}
              </Link>
              {context.workspace.root !== null && (
                <span className="min-w-0 truncate font-mono">
                  <Text>{context.workspace.root}</Text>
                </span>
              )}
            </>
          )}
        </p>
        {problems.map((problem) => (
          <p key={problem} className="text-xs text-bad wrap-anywhere">
            <Text>{problem}</Text>
          </p>
        ))}
      </header>
      {context === null ? (
        <Transcript sessionId={value.sessionId} runIds={[]} isAsking={false} />
      ) : (
        <Conversation sessionId={value.sessionId} context={context} mayChange={mayChange} />
      )}
    </>
  );
}

interface ConversationProps {
  readonly sessionId: string;
  readonly context: NonNullable<Operations["getSession"]["reply"]["context"]>;
  readonly mayChange: boolean;
}

function Conversation({ sessionId, context, mayChange }: ConversationProps) {
  const { runId, runIds, status } = context;
  const asks = useOpenAsks(runId);
  const isAsking = asks.data?.items.some(({ delegationId }) => delegationId === sessionId);
  return (
    <>
      <Transcript sessionId={sessionId} runIds={runIds} isAsking={isAsking === true} />
      <RunAsks asks={asks} />
      {mayChange && <ContinueForm sessionId={sessionId} isOver={isOver(status)} />}
    </>
  );
}

interface TranscriptProps {
  readonly sessionId: string;
  readonly runIds: readonly string[];
  readonly isAsking: boolean;
}

function Transcript({ sessionId, runIds, isAsking }: TranscriptProps) {
  const { data: value, error, refetch } = useMessages(sessionId, runIds);
  const waiting = waitingQuestion(value?.entries ?? [], isAsking);
  const box = useFollowEnd();
  if (error !== null && value === undefined) return <Problem error={error} onRetry={refetch} />;
  return (
    <div
      ref={box}
      role="log"
      aria-label="What was said"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
      tabIndex={0}
      className="row min-h-48 flex-1 overflow-auto"
    >
      <div className="flex flex-col gap-1 py-2">
        {value?.entries.length === 0 && <Empty title="Nothing was said yet" />}
        {value?.entries.map((entry, index) => (
          // What was said keeps its place; nothing comes in between. What is out of sight is not drawn.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above.
          <div key={index} className="[contain-intrinsic-size:auto_60px] [content-visibility:auto]">
            <EntryView entry={entry} isWaiting={entry === waiting} />
          </div>
        ))}
        {value?.isCut && (
          <p className="px-4 text-soft">
            There is more than a page can show: export all of it above.
          </p>
        )}
      </div>
    </div>
  );
}
