import {
  type FormEvent,
  type KeyboardEvent,
  type SyntheticEvent,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { longestReason } from "../../../../src/events/consent.ts";
import { Time } from "../../components/amounts.tsx";
import { Button } from "../../components/button.tsx";
import { isSending } from "../../components/is-sending.ts";
import { Markdown } from "../../components/markdown/markdown.tsx";
import { PatchView } from "../../components/patch-view.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAskDetail } from "../../data/ask-detail.ts";
import { client } from "../../data/client.ts";
import { queryClient } from "../../data/query-client.ts";
import { useAction } from "../../data/use-action.ts";
import { useNow } from "../../data/use-now.ts";
import { Link } from "../../router/link.tsx";
import { useKeys } from "../../shell/keys.ts";
import { type ShownItem, tellDeadline, tellDefault } from "./inbox-item.ts";

interface AskCardProps {
  readonly item: ShownItem;
  readonly mayAnswer: boolean;
  /** The one that keys answer: the first on the page. */
  readonly hasKeys?: boolean;
}

/** A question that waits, with all that it is about, and the place to answer it. */
export function AskCard({ item, mayAnswer, hasKeys = false }: AskCardProps) {
  const { ask, delegationId, runId } = item;
  const headingId = useId();
  const isApproval = item.kind === "approval";
  const answer = useAction(async (text: string) => {
    try {
      await client.answerAsk({ askId: ask?.id ?? "", text });
      showToast("Answered. The run continues.");
    } finally {
      // Also when another answer came first: then the question is closed.
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: ["open-asks"] }),
        queryClient.invalidateQueries({ queryKey: ["delegation", delegationId ?? ""] }),
      ]);
    }
  });
  if (ask === undefined) return null;
  return (
    <article
      aria-labelledby={headingId}
      className="min-w-0 rounded-md border border-line border-l-[3px] border-l-warn bg-raised px-4 py-3"
    >
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <StateBadge state="asking" word={isApproval ? "Approval" : "Question"} />
        <h3 id={headingId} className="min-w-0 font-semibold wrap-anywhere">
          <Text>{item.title}</Text>
        </h3>
        <Deadline at={ask.deadlineAt} />
        <span className="ml-auto flex gap-3 text-xs text-soft">
          {delegationId !== undefined && (
            <Link className="text-accent hover:underline" to={`/delegations/${delegationId}`}>
              {delegationId}
            </Link>
          )}
          <Link className="text-accent hover:underline" to={`/runs/${runId}`}>
            {runId}
          </Link>
          <Time at={item.at} />
        </span>
      </header>
      <Subject item={item} askId={ask.id} />
      <div className="pt-1">
        <p className="text-xs text-soft wrap-anywhere">
          {tellDefault(isApproval, ask.default)}{" "}
          {ask.default !== null && <Text className="font-medium text-ink">{ask.default}</Text>}
        </p>
        {!mayAnswer ? (
          <p className="mt-2 text-xs text-soft">You can read this question; operators answer it.</p>
        ) : isApproval ? (
          <Decision hasKeys={hasKeys} isBusy={answer.isBusy} onAnswer={answer.run} />
        ) : (
          <AnswerForm isBusy={answer.isBusy} labelledBy={headingId} onAnswer={answer.run} />
        )}
      </div>
    </article>
  );
}

function Deadline({ at }: { readonly at: number }) {
  const { isNear, text } = tellDeadline(at, useNow(true) || Date.now());
  return (
    <time
      dateTime={new Date(at).toISOString()}
      title={`Answer by ${new Date(at).toLocaleString()}`}
      className={`text-xs ${isNear ? "font-semibold text-bad" : "text-soft"}`}
    >
      {text}
    </time>
  );
}

/** The task it belongs to, the question, and the change or the call: a person approves what they read. */
function Subject({ askId, item }: { readonly askId: string; readonly item: ShownItem }) {
  const { data } = useAskDetail(askId);
  const question = data?.question ?? item.ask?.question ?? item.text;
  const call = data?.call;
  const patch = data?.patch ?? null;
  return (
    // However long the question is, the decision below it stays in sight.
    <div
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
      tabIndex={0}
      className="row mt-1 flex max-h-[32vh] min-w-0 flex-col gap-2 overflow-x-hidden overflow-y-auto [&_pre]:max-h-none"
    >
      {data !== undefined && (
        <p className="truncate text-xs text-soft">
          For the task: <Text most={200}>{data.task}</Text>
        </p>
      )}
      {item.kind === "approval" ? (
        // The change is shown by itself; in the question it would be there twice. Without one, text that
        // looks like a change is what an agent wrote into its question.
        <LongText isWhole>{patch === null ? question : withoutPatch(question)}</LongText>
      ) : (
        <Markdown most={null}>{question}</Markdown>
      )}
      {call != null && (
        <details className="min-w-0">
          <summary className="cursor-pointer text-soft hover:text-ink">
            All arguments of <Text className="font-mono text-xs">{call.tool}</Text>
          </summary>
          <LongText className="mt-1 rounded-md bg-page px-3 py-1.5" isWhole>
            {JSON.stringify(call.input, null, 2) ?? ""}
          </LongText>
        </details>
      )}
      {patch !== null && <PatchView>{patch}</PatchView>}
    </div>
  );
}

const patchStart = /^diff --git /m;

function withoutPatch(question: string): string {
  const at = question.search(patchStart);
  return at < 0 ? question : question.slice(0, at).trimEnd();
}

interface DecisionProps {
  readonly hasKeys: boolean;
  readonly isBusy: boolean;
  readonly onAnswer: (text: string) => Promise<boolean>;
}

/** The person has just asked for it. */
const focusOnMount = (element: HTMLTextAreaElement | null): void => element?.focus();

/** A key that was meant for the question before does not answer this one. */
const armedAfterMs = 700;

function Decision({ hasKeys, isBusy, onAnswer }: DecisionProps) {
  const [reason, setReason] = useState<string | null>(null);
  const shownAt = useRef(0);
  useEffect(() => {
    shownAt.current = hasKeys ? performance.now() : Number.POSITIVE_INFINITY;
  }, [hasKeys]);
  const ifArmed = (act: () => void) => (): void => {
    if (performance.now() - shownAt.current > armedAfterMs) act();
  };
  useKeys(
    hasKeys
      ? [
          { keys: "y", label: "Approve", run: ifArmed(() => void onAnswer("yes")) },
          { keys: "n", label: "Reject, with a reason", run: ifArmed(() => setReason("")) },
        ]
      : [],
  );
  if (reason === null) {
    return (
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <Button tone="main" disabled={isBusy} onClick={() => void onAnswer("yes")}>
          Approve
        </Button>
        <Button tone="danger" disabled={isBusy} onClick={() => setReason("")}>
          Reject…
        </Button>
        {hasKeys && (
          <span className="text-xs text-soft max-sm:hidden" aria-hidden="true">
            y approves, n rejects
          </span>
        )}
      </div>
    );
  }
  const reject = (event: SyntheticEvent): void => {
    event.preventDefault();
    const said = reason.trim();
    void onAnswer(said === "" ? "no" : `no, because ${said}`);
  };
  return (
    <form className="mt-2 flex flex-wrap items-end gap-2" onSubmit={reject}>
      <textarea
        ref={focusOnMount}
        aria-label="Reason, for the agent (optional)"
        placeholder="Reason, for the agent (optional; Enter rejects)"
        rows={2}
        maxLength={longestReason}
        className="min-h-9 min-w-0 flex-1 basis-60 resize-y rounded-md border border-edge bg-panel px-2 py-1"
        value={reason}
        onChange={({ target }) => setReason(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") setReason(null);
          else if (isSending(event)) reject(event);
        }}
      />
      <Button type="submit" tone="danger" disabled={isBusy}>
        Reject
      </Button>
      <Button onClick={() => setReason(null)}>Back</Button>
    </form>
  );
}

interface AnswerFormProps {
  readonly isBusy: boolean;
  readonly labelledBy: string;
  readonly onAnswer: (text: string) => Promise<boolean>;
}

function AnswerForm({ isBusy, labelledBy, onAnswer }: AnswerFormProps) {
  const [text, setText] = useState("");
  const isEmpty = text.trim() === "";
  const send = (event?: FormEvent): void => {
    event?.preventDefault();
    if (!isEmpty) void onAnswer(text);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (isSending(event)) {
      event.preventDefault();
      send();
    }
  };
  return (
    <form className="mt-2 flex items-end gap-2" onSubmit={send}>
      <textarea
        aria-label="Your answer"
        aria-describedby={labelledBy}
        placeholder="Your answer (Enter sends it)"
        rows={2}
        maxLength={32_000}
        className="min-h-9 min-w-0 flex-1 resize-y rounded-md border border-edge bg-panel px-2 py-1"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={pressed}
      />
      <Button type="submit" tone="main" disabled={isBusy || isEmpty}>
        Answer
      </Button>
    </form>
  );
}
