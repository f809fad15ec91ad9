import type { ReactNode } from "react";
import { countOf, formatSpan, formatTokens } from "../../../../../src/surfaces/cli/amounts.ts";
import { formatBytes } from "../../../components/format-bytes.ts";
import { Markdown } from "../../../components/markdown/markdown.tsx";
import { Problem } from "../../../components/problem.tsx";
import { LongText, Text } from "../../../components/text.tsx";
import { type ModelRequest, type ModelRequestDetail, useModelRequest } from "./use-requests.ts";

interface RequestDetailsProps {
  readonly delegationId: string;
  readonly row: ModelRequest;
}

/** The prompt as it was sent, beside what came back. */
export function RequestDetails({ delegationId, row }: RequestDetailsProps) {
  const { data, error } = useModelRequest(delegationId, row);
  if (data === undefined) {
    return error === null ? (
      <p className="border-b border-line bg-page px-4 py-3 text-soft">Reading the prompt…</p>
    ) : (
      <Problem error={error} />
    );
  }
  return (
    <div className="grid gap-x-6 gap-y-3 border-b border-line bg-page px-4 py-3 lg:grid-cols-2">
      <section aria-label="Prompt" className="min-w-0">
        <h3 className="mb-1 text-xs font-semibold text-soft">
          Prompt: {countOf(row.messages, "message")}, {formatBytes(row.bytes)}
        </h3>
        <Prompt detail={data} />
      </section>
      <section aria-label="Answer" className="min-w-0">
        <h3 className="mb-1 text-xs font-semibold text-soft">Answer</h3>
        <Answer detail={data} />
      </section>
    </div>
  );
}

function Prompt({
  detail: { conversation, omitted, system },
}: {
  readonly detail: ModelRequestDetail;
}) {
  const last = conversation.length - 1;
  return (
    <>
      {system === null ? (
        <p className="text-warn">The system prompt is missing in the database.</p>
      ) : (
        <Part title="System prompt">
          <LongText>{system}</LongText>
        </Part>
      )}
      {omitted > 0 && (
        <p className="py-1 text-soft">{countOf(omitted, "earlier message")} not shown here.</p>
      )}
      {conversation.map(({ calls, isCut, isError, role, text, tool }, index) => (
        <Part
          // biome-ignore lint/suspicious/noArrayIndexKey: the messages of a request never move.
          key={index}
          title={role === "tool" ? `Result of ${tool}` : role === "user" ? "User" : "Assistant"}
          isBad={isError}
          isOpen={index === last}
          aside={text.slice(0, 120)}
        >
          {text !== "" && <LongText>{text}</LongText>}
          {isCut && <p className="text-soft">The rest is in the transcript.</p>}
          {calls.map((call, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the calls of a message never move.
            <Call key={place} call={call} />
          ))}
        </Part>
      ))}
    </>
  );
}

interface PartProps {
  readonly title: string;
  readonly isBad?: boolean;
  readonly isOpen?: boolean;
  readonly aside?: string;
  readonly children: ReactNode;
}

function Part({ title, isBad = false, isOpen = false, aside = "", children }: PartProps) {
  return (
    <details open={isOpen} className="group border-t border-line py-1">
      <summary className="flex cursor-pointer items-baseline gap-2 text-xs">
        <span aria-hidden="true" className="shrink-0 text-soft group-open:rotate-90">
          ›
        </span>
        <Text className={`shrink-0 font-semibold ${isBad ? "text-bad" : ""}`} most={80}>
          {title}
        </Text>
        <Text className="truncate text-soft group-open:hidden" most={120}>
          {aside}
        </Text>
      </summary>
      <div className="pt-1 pl-4">{children}</div>
    </details>
  );
}

function Answer({ detail }: { readonly detail: ModelRequestDetail }) {
  const { calls, estimated, finishReason, partial, reserved, retry, text } = detail;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {text !== "" && <Markdown>{text}</Markdown>}
      {calls.map((call, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the calls of an answer never move.
        <Call key={place} call={call} />
      ))}
      {partial !== null && (
        <Part title="Received before it failed" isOpen>
          <LongText>{partial}</LongText>
        </Part>
      )}
      {retry !== null && (
        <p className="text-warn wrap-anywhere">
          <Text most={1000}>{retry.reason}</Text>{" "}
          {retry.nextModel === null ? (
            `Tried again after ${formatSpan(retry.delayMs)}.`
          ) : (
            <Text>{`Next model: ${retry.nextModel}.`}</Text>
          )}
        </p>
      )}
      <p className="text-xs text-soft">
        {formatTokens(reserved)} tokens reserved
        {finishReason !== null && <Text>{`, finish reason ${finishReason}`}</Text>}
        {estimated && ", tokens are upper bounds: the provider reported none"}
      </p>
    </div>
  );
}

function Call({ call: { input, tool } }: { readonly call: ModelRequestDetail["calls"][number] }) {
  return (
    <div className="min-w-0 rounded-md border border-line px-2 py-1">
      <Text className="font-mono text-xs font-semibold" most={100}>
        {tool}
      </Text>
      <LongText>{JSON.stringify(input, null, 2) ?? ""}</LongText>
    </div>
  );
}
