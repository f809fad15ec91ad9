import { type KeyboardEvent, type ReactNode, useEffect, useId } from "react";

interface Tab {
  readonly id: string;
  readonly label: ReactNode;
  readonly content: () => ReactNode;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
  /** At the end of the line of tabs. */
  readonly aside?: ReactNode;
}

/** Arrow keys move between tabs; what is not chosen is not drawn. */
export function Tabs({ label, tabs, chosen, onChoose, aside }: TabsProps) {
  const base = useId();
  const index = Math.max(
    tabs.findIndex(({ id }) => id === chosen),
    0,
  );
  const current = tabs[index];
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = tabs[(index + step + tabs.length) % tabs.length];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    onChoose(next.id);
    document.getElementById(`${base}-${next.id}`)?.focus();
  };
  // Where there is no room for all of them, the chosen one is among those in sight.
  useEffect(() => {
    document
      .getElementById(`${base}-${current?.id}`)
      ?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [base, current?.id]);
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex shrink-0 items-center gap-2 border-b border-line px-3">
        <div
          role="tablist"
          aria-label={label}
          className="flex min-w-0 gap-1 overflow-x-auto overflow-y-hidden [scrollbar-width:none]"
          onKeyDown={move}
        >
          {tabs.map(({ id, label: name }) => (
            <button
              key={id}
              id={`${base}-${id}`}
              type="button"
              role="tab"
              aria-selected={id === current?.id}
              aria-controls={`${base}-panel`}
              tabIndex={id === current?.id ? 0 : -1}
              className="shrink-0 border-b-2 border-transparent px-2 py-2 font-medium whitespace-nowrap text-soft -outline-offset-2 hover:text-ink aria-selected:border-accent aria-selected:text-ink"
              onClick={() => onChoose(id)}
            >
              {name}
            </button>
          ))}
        </div>
        {aside !== undefined && (
          <div className="ml-auto flex shrink-0 items-center gap-2">{aside}</div>
        )}
      </div>
      <div
        role="tabpanel"
        id={`${base}-panel`}
        aria-labelledby={`${base}-${current?.id}`}
        className="flex min-h-0 min-w-0 flex-1 flex-col"
      >
        {current?.content()}
      </div>
    </div>
  );
}
