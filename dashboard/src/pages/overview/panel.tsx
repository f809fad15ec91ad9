import { type ReactNode, useId } from "react";
import { Link } from "../../router/link.tsx";

interface PanelProps {
  readonly title: string;
  readonly count?: number;
  readonly to?: string;
  /** The text of the link to the whole list. */
  readonly all?: string;
  readonly children: ReactNode;
}

/** A part of the overview, and the way to the whole list. */
export function Panel({ title, count, to, all, children }: PanelProps) {
  const headingId = useId();
  return (
    <section aria-labelledby={headingId} className="min-w-0 bg-panel pb-3">
      <header className="flex items-baseline gap-2 px-4 pt-3 pb-1.5">
        <h2 id={headingId} className="font-semibold">
          {title}
        </h2>
        {count !== undefined && count > 0 && (
          <span className="text-soft">{count >= 100 ? "100+" : count}</span>
        )}
        {to !== undefined && (
          <Link to={to} className="ml-auto text-xs text-accent hover:underline">
            {all}
          </Link>
        )}
      </header>
      {children}
    </section>
  );
}
