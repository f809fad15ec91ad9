import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { Time } from "../../components/amounts.tsx";
import { Button } from "../../components/button.tsx";
import { isSending } from "../../components/is-sending.ts";
import { StateBadge } from "../../components/state-badge.tsx";
import { LongText, Text } from "../../components/text.tsx";
import { showToast } from "../../components/toast.tsx";
import { client } from "../../data/client.ts";
import { useAction } from "../../data/use-action.ts";
import { useNow } from "../../data/use-now.ts";
import { Link } from "../../router/link.tsx";
import { type ShownItem, tellDeadline, tellDefault } from "./inbox-item.ts";

interface AskCardProps {
  readonly item: ShownItem;
  readonly mayAnswer: boolean;
  readonly onAnswered: () => void;
}

/** A question that waits, and the place to answer it. */
export function AskCard({ item, mayAnswer, onAnswered }: AskCardProps) {
  const { ask, delegationId, runId } = item;
  const headingId = useId();
  const isApproval = item.kind === "approval";
  const answer = useAction(async (text: string) => {
    try {
      await client.answerAsk({ askId: ask?.id ?? "", text });
      showToast("Answered. The run continues.");
    } finally {
      // Also when another answer came first: then the question is closed.
      onAnswered();
    }
  });
  if (ask === undefined) return null;
  return (
    <article
      aria-labelledby={headingId}
      className="rounded-md border border-line border-l-[3px] border-l-warn bg-raised px-4 py-3"
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
      <Question item={item} />
      <p className="mt-1 text-xs text-soft wrap-anywhere">
        {tellDefault(isApproval, ask.default)}{" "}
        {ask.default !== null && <Text className="font-medium text-ink">{ask.default}</Text>}
      </p>
      {mayAnswer ? (
        isApproval ? (
          <div className="mt-2 flex gap-2">
            <Button tone="main" disabled={answer.isBusy} onClick={() => void answer.run("yes")}>
              Yes, allow it
            </Button>
            <Button tone="danger" disabled={answer.isBusy} onClick={() => void answer.run("no")}>
              No
            </Button>
          </div>
        ) : (
          <AnswerForm isBusy={answer.isBusy} labelledBy={headingId} onAnswer={answer.run} />
        )
      ) : (
        <p className="mt-2 text-xs text-soft">Operators answer; you can only look.</p>
      )}
    </article>
  );
}

function Deadline({ at }: { readonly at: number }) {
  const { isNear, text } = tellDeadline(at, useNow(true) || Date.now());
  return (
    <time
      dateTime={new Date(at).toISOString()}
      title={`An answer counts until ${new Date(at).toLocaleString()}`}
      className={`text-xs ${isNear ? "font-semibold text-bad" : "text-soft"}`}
    >
      {text}
    </time>
  );
}

/** All of the question: a person approves what they read. */
function Question({ item }: { readonly item: ShownItem }) {
  const whole = item.ask?.question ?? item.text;
  if (whole !== item.text)
    return (
      <LongText className="mt-2" isWhole>
        {whole}
      </LongText>
    );
  return (
    <p className="mt-1 wrap-anywhere">
      <Text>{whole}</Text>
    </p>
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
