import type { ReactNode } from "react";

interface PaneProps {
  readonly label: string;
  readonly children: ReactNode;
  readonly onScrolled?: (element: HTMLElement) => void;
}

/** The part of a tab that scrolls, also with keys. */
export function Pane({ label, children, onScrolled }: PaneProps) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
      tabIndex={0}
      className="row min-h-0 flex-1 overflow-x-hidden overflow-y-auto overscroll-contain"
      onScroll={onScrolled && (({ currentTarget }) => onScrolled(currentTarget))}
    >
      {children}
    </section>
  );
}

interface FactsProps {
  readonly title: string;
  readonly children: ReactNode;
}

/** A heading and what is under it. */
export function Facts({ title, children }: FactsProps) {
  return (
    <div className="px-4 pt-3 pb-1">
      <h3 className="mb-1 text-xs font-semibold text-soft">{title}</h3>
      {children}
    </div>
  );
}

/** One label and what is said to it. */
export function Fact({
  label,
  children,
}: {
  readonly label: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <div className="grid grid-cols-[minmax(0,10rem)_minmax(0,1fr)] gap-x-3 border-t border-line py-1 first:border-t-0 max-sm:grid-cols-1">
      <dt className="text-soft wrap-anywhere">{label}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  );
}
