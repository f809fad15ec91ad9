import type { BarKind } from "./doing-of.ts";

interface BarLook {
  readonly word: string;
  readonly fill: string;
  /** The height out of 18: a bar of an agent's own work is higher than a bar of waiting. */
  readonly height: number;
}

const teal = "light-dark(#0f7180, #4fc3d3)";
const plum = "light-dark(#8a3f9e, #d49be6)";

/** In the order of the legend. Each has a height or a pattern beside its colour. */
export const barLooks: Readonly<Record<BarKind, BarLook>> = {
  slot: { word: "waits for a slot", fill: "url(#gantt-slot)", height: 12 },
  model: { word: "model", fill: "var(--busy)", height: 14 },
  tool: { word: "tool", fill: teal, height: 14 },
  child: { word: "waits for a child", fill: "var(--edge)", height: 5 },
  person: { word: "waits for a person", fill: "var(--warn)", height: 10 },
  merge: { word: "handing in", fill: plum, height: 10 },
  budget: { word: "waits for budget", fill: "url(#gantt-budget)", height: 12 },
  paused: { word: "paused", fill: "url(#gantt-budget)", height: 5 },
  own: { word: "between steps", fill: "var(--soft)", height: 3 },
};

/** Patterns for all charts of the page; what is hidden entirely cannot be referred to. */
export function GanttPatterns() {
  return (
    <svg width="0" height="0" className="absolute" aria-hidden="true">
      <defs>
        <pattern id="gantt-slot" width="5" height="5" patternUnits="userSpaceOnUse">
          <rect width="5" height="5" fill="var(--hover)" />
          <path d="M-1 1 1 -1M0 5 5 0M4 6 6 4" stroke="var(--soft)" strokeWidth="1.2" />
        </pattern>
        <pattern id="gantt-budget" width="4" height="4" patternUnits="userSpaceOnUse">
          <rect width="4" height="4" fill="var(--hover)" />
          <circle cx="2" cy="2" r="1" fill="var(--warn)" />
        </pattern>
      </defs>
    </svg>
  );
}

export function GanttLegend({ kinds }: { readonly kinds: ReadonlySet<BarKind> }) {
  const shown = (Object.keys(barLooks) as BarKind[]).filter((kind) => kinds.has(kind));
  return (
    <ul
      className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-0.5 text-xs text-soft"
      aria-label="Legend"
    >
      {shown.map((kind) => (
        <li key={kind} className="flex items-center gap-1">
          <svg width="14" height="14" aria-hidden="true">
            <rect
              width="14"
              y={(14 - Math.min(barLooks[kind].height, 12)) / 2}
              height={Math.min(barLooks[kind].height, 12)}
              rx="1.5"
              style={{ fill: barLooks[kind].fill }}
            />
          </svg>
          {barLooks[kind].word}
        </li>
      ))}
      <li className="flex items-center gap-1">
        <svg width="14" height="14" aria-hidden="true">
          <rect width="14" y="6" height="2.5" style={{ fill: "var(--bad)" }} />
        </svg>
        critical path
      </li>
    </ul>
  );
}
