import { type HTMLAttributes, type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { useKeys } from "../shell/keys.ts";
import { Measured } from "./measured.tsx";
import { useListView } from "./use-list-view.ts";

interface VirtualListProps {
  /** What it lists, for those who cannot see it. */
  readonly label: string;
  readonly kind?: "grid" | "treegrid";
  readonly count: number;
  readonly rowHeight: number;
  readonly keyOf: (index: number) => string;
  /** Cells: elements with the role `gridcell`. */
  readonly renderRow: (index: number) => ReactNode;
  readonly rowProps?: (index: number) => HTMLAttributes<HTMLDivElement>;
  /** A row of column headers that stays; as high as a row of 28 pixels. */
  readonly header?: ReactNode;
  /** Rows below which their details are shown, ascending. */
  readonly expanded?: readonly number[];
  readonly renderDetails?: (index: number) => ReactNode;
  /** By Enter, or a click on a row. */
  readonly onOpen?: (index: number) => void;
  /** Other keys on a row; true when it was one. */
  readonly onRowKey?: (key: string, index: number) => boolean;
  /** The last rows are in sight. */
  readonly onEnd?: () => void;
  /** The one whose rows `j` and `k` go through, wherever the focus is. */
  readonly isMain?: boolean;
  /** A list that is scrolled to its end stays there while rows are added. */
  readonly followsEnd?: boolean;
}

const headerHeight = 28;

/** Rows of one height, of which only those in sight exist: a hundred thousand are as quick as ten. */
export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight, keyOf, expanded = [], header, onEnd, followsEnd } = props;
  const base = useId();
  const [measured, setMeasured] = useState<ReadonlyMap<string, number>>(new Map());
  const list = useListView({
    ...{ count, rowHeight, onEnd, followsEnd },
    above: header === undefined ? 0 : headerHeight,
    expanded: expanded.map((index) => ({ index, height: measured.get(keyOf(index)) ?? 0 })),
  });
  const { active, first, heights, last, moveTo } = list;

  const pressed = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const target = {
      ArrowDown: active + 1,
      j: active + 1,
      ArrowUp: active - 1,
      k: active - 1,
      PageDown: active + list.page,
      PageUp: active - list.page,
      Home: 0,
      End: count - 1,
    }[event.key];
    if (target !== undefined) moveTo(target);
    else if (active < 0 || active >= count) return;
    else if (event.key === "Enter") props.onOpen?.(active);
    else if (!props.onRowKey?.(event.key, active)) return;
    event.preventDefault();
    event.stopPropagation();
  };

  useKeys(
    props.isMain
      ? [
          { keys: "j", label: "Next row", run: () => moveTo(active + 1) },
          { keys: "k", label: "Row before", run: () => moveTo(active - 1) },
        ]
      : [],
  );

  const rows: ReactNode[] = [];
  for (let index = first; index <= last; index += 1) {
    const key = keyOf(index);
    const isExpanded = expanded.includes(index);
    const { className = "", ...rest } = props.rowProps?.(index) ?? {};
    rows.push(
      <div
        key={key}
        className="absolute inset-x-0 top-0"
        role="presentation"
        style={{ transform: `translateY(${heights.topOf(index)}px)` }}
      >
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys of its rows. */}
        <div
          role="row"
          {...rest}
          id={`${base}-${index}`}
          aria-rowindex={index + (header === undefined ? 1 : 2)}
          className={`border-b border-line hover:bg-hover ${index === active ? "active-row bg-chosen hover:bg-chosen" : ""} ${className}`}
          style={{ height: rowHeight }}
          onClick={(event) => {
            if (isOwnClick(event.target)) {
              list.pick(index);
              props.onOpen?.(index);
            }
          }}
        >
          {props.renderRow(index)}
        </div>
        {isExpanded && (
          <Measured
            onHeight={(height) => {
              if (measured.get(key) === height) return;
              setMeasured((before) => new Map(before).set(key, height));
              list.showDetails(index, height);
            }}
          >
            {props.renderDetails?.(index)}
          </Measured>
        )}
      </div>,
    );
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it is a grid of one kind or the other.
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: it is a grid of one kind or the other.
    <div
      ref={list.scroller}
      role={props.kind ?? "grid"}
      aria-label={props.label}
      aria-rowcount={count + (header === undefined ? 0 : 1)}
      aria-activedescendant={active >= first && active <= last ? `${base}-${active}` : undefined}
      tabIndex={0}
      className="rows relative min-h-0 flex-1 overflow-x-hidden overflow-y-auto overscroll-contain"
      onKeyDown={pressed}
      onScroll={({ currentTarget }) => list.scrolled(currentTarget)}
    >
      {header !== undefined && (
        <div
          role="rowgroup"
          className="sticky top-0 z-10 h-7 border-b border-line bg-panel text-xs font-medium text-soft"
        >
          {header}
        </div>
      )}
      <div role="rowgroup" className="relative" style={{ height: list.total }}>
        {rows}
      </div>
    </div>
  );
}

/** Buttons and links in a row do what they say; selecting text opens nothing. */
function isOwnClick(target: EventTarget): boolean {
  if (!(target instanceof Element) || target.closest("a, button, input") !== null) return false;
  return getSelection()?.isCollapsed !== false;
}
