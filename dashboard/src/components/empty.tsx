import type { ReactNode } from "react";

interface EmptyProps {
  readonly title: string;
  /** What this is for, and how to get something to see here. */
  readonly children?: ReactNode;
}

export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-2 px-6 py-16 text-center">
      <svg viewBox="0 0 48 24" className="mb-1 h-7 w-14 text-edge" aria-hidden="true">
        <g fill="none" stroke="currentColor" strokeWidth="1.5">
          <circle cx="24" cy="5" r="3.2" />
          <circle cx="8" cy="19" r="3.2" />
          <circle cx="24" cy="19" r="3.2" />
          <circle cx="40" cy="19" r="3.2" strokeDasharray="2 2" />
          <path d="M24 8.2v7.6M21.5 7 10.5 16.5M26.5 7 37.5 16.5" />
        </g>
      </svg>
      <h2 className="text-sm font-semibold">{title}</h2>
      <div className="text-soft [&_code]:rounded-sm [&_code]:bg-hover [&_code]:px-1 [&_code]:font-mono [&_code]:text-xs [&_code]:text-ink">
        {children}
      </div>
    </div>
  );
}
