import type { UseQueryResult } from "@tanstack/react-query";
import { useId } from "react";
import type { OpenAsks } from "../../data/open-asks.ts";
import { isOperator, useMe } from "../../data/use-me.ts";
import { AskCard } from "./ask-card.tsx";

interface RunAsksProps {
  readonly asks: UseQueryResult<OpenAsks>;
  readonly className?: string;
}

/** What waits for an answer in one run, from whatever depth: the same cards as in the inbox. */
export function RunAsks({ asks, className = "" }: RunAsksProps) {
  const headingId = useId();
  const mayAnswer = isOperator(useMe());
  const items = asks.data?.items.toReversed() ?? [];
  if (items.length === 0) return null;
  return (
    <section
      aria-labelledby={headingId}
      className={`flex shrink-0 flex-col gap-2 px-4 py-3 sm:max-h-[60%] sm:overflow-auto ${className}`}
    >
      <h2 id={headingId} className="sr-only">
        Waiting for you
      </h2>
      {items.map((item, index) => (
        <AskCard key={item.id} item={item} mayAnswer={mayAnswer} hasKeys={index === 0} />
      ))}
    </section>
  );
}
