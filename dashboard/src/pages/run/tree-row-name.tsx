import { harmlessLine } from "../../../../src/sessions/harmless-text.ts";
import { Text } from "../../components/text.tsx";
import { Link } from "../../router/link.tsx";
import type { TreeRow } from "./run-tree-rows.ts";
import type { AgentName } from "./workflow/use-workflows.ts";

interface TreeRowNameProps extends AgentName {
  readonly row: TreeRow;
  readonly onFold: () => void;
}

const deepest = 12;

/** Who it is, how deep in the tree, and what for. */
export function TreeRowName({ row, name, about, onFold }: TreeRowNameProps) {
  const { children, delegation, depth, isFolded } = row;
  return (
    <span
      role="gridcell"
      className="flex min-w-0 items-center gap-1.5"
      style={{ paddingLeft: Math.min(depth, deepest) * 18 }}
    >
      {children > 0 ? (
        <button
          type="button"
          tabIndex={-1}
          className="size-5 shrink-0 rounded-sm text-soft hover:text-ink"
          aria-label={`${isFolded ? "Unfold" : "Fold"} ${harmlessLine(name, 80)}`}
          onClick={onFold}
        >
          <svg
            viewBox="0 0 16 16"
            className={`mx-auto size-3.5 ${isFolded ? "" : "rotate-90"}`}
            aria-hidden="true"
          >
            <path d="m6 4 4 4-4 4" fill="none" stroke="currentColor" strokeWidth="1.75" />
          </svg>
        </button>
      ) : (
        <span className="size-5 shrink-0" />
      )}
      <Link
        to={`/delegations/${delegation.id}`}
        tabIndex={-1}
        className={`truncate font-medium hover:underline ${depth > 0 ? "max-w-3/5 shrink-0" : "min-w-0"}`}
      >
        <Text most={60}>{name}</Text>
      </Link>
      {depth > 0 && <Text className="min-w-0 truncate text-soft">{about}</Text>}
      {isFolded && <span className="shrink-0 text-xs text-soft">({children})</span>}
    </span>
  );
}
