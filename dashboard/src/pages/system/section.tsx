import { type ReactNode, useId } from "react";

interface SectionProps {
  readonly title: string;
  readonly children: ReactNode;
}

export function Section({ title, children }: SectionProps) {
  const headingId = useId();
  return (
    <section aria-labelledby={headingId} className="border-b border-line py-4">
      <h2 id={headingId} className="px-4 pb-2 text-sm font-semibold">
        {title}
      </h2>
      {children}
    </section>
  );
}

interface Fact {
  readonly name: string;
  readonly value: ReactNode;
}

/** A name, and what it is. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="grid grid-cols-[11rem_minmax(0,1fr)] gap-x-3 gap-y-1 px-4 max-sm:grid-cols-[6.5rem_minmax(0,1fr)]">
      {facts.map(({ name, value }) => (
        <div key={name} className="contents">
          <dt className="text-soft">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Whether something holds: a shape, a colour and a word. */
export function Mark({ isGood, word }: { readonly isGood: boolean; readonly word: string }) {
  return (
    <span className={`inline-flex items-center gap-1.5 ${isGood ? "text-good" : "text-warn"}`}>
      <svg
        viewBox="0 0 16 16"
        className="size-3.5 shrink-0"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        aria-hidden="true"
      >
        {isGood ? (
          <path d="M3 8.5l3.2 3.2L13 5" />
        ) : (
          <path d="M8 2 14.5 13.5H1.5ZM8 6.5v3M8 11.5v.1" />
        )}
      </svg>
      {word}
    </span>
  );
}
