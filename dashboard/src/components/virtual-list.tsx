import {
  type HTMLAttributes,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useKeys } from "../shell/keys.ts";
import { RowHeights } from "./row-heights.ts";

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
  /** Whoever is at the end stays there while rows are added. */
  readonly followsEnd?: boolean;
}

const headerHeight = 28;
const overscan = 8;

/** Rows of one height, of which only those in sight exist: a hundred thousand are as quick as ten. */
export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight, keyOf, expanded = [], header, onEnd, followsEnd } = props;
  const base = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(-1);
  const [measured, setMeasured] = useState<ReadonlyMap<string, number>>(new Map());
  const heights = new RowHeights(
    rowHeight,
    expanded.map((index) => ({ index, height: measured.get(keyOf(index)) ?? 0 })),
  );
  const total = heights.topOf(count);
  const first = Math.max(heights.indexAt(view.top) - overscan, 0);
  const last = Math.min(heights.indexAt(view.top + view.height) + overscan, count - 1);
  const above = header === undefined ? 0 : headerHeight;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // Whoever opens or picks a row wants to look at that.
  const wasAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (followsEnd && wasAtEnd.current && element) element.scrollTop = total + above;
  }, [followsEnd, total, above]);

  useEffect(() => {
    if (count > 0 && last >= count - 1) onEnd?.();
  }, [last, count, onEnd]);

  const moveTo = (wanted: number): void => {
    const element = scroller.current;
    if (element === null || count === 0) return;
    const index = Math.min(Math.max(wanted, 0), count - 1);
    setActive(index);
    wasAtEnd.current = index === count - 1;
    element.focus({ preventScroll: true });
    const top = heights.topOf(index);
    const room = element.clientHeight - above;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + room) element.scrollTop = top + rowHeight - room;
  };

  /** What was just opened is to be seen, as far as there is room. */
  const showDetails = (index: number, height: number): void => {
    const element = scroller.current;
    if (element === null || index !== active) return;
    const top = heights.topOf(index);
    const bottom = top + rowHeight + height - (element.clientHeight - above);
    requestAnimationFrame(() => {
      if (bottom > element.scrollTop) element.scrollTop = Math.min(bottom, top);
    });
  };

  const pressed = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const page = Math.max(Math.floor(view.height / rowHeight) - 2, 1);
    const target = {
      ArrowDown: active + 1,
      j: active + 1,
      ArrowUp: active - 1,
      k: active - 1,
      PageDown: active + page,
      PageUp: active - page,
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
              wasAtEnd.current = false;
              setActive(index);
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
              showDetails(index, height);
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
      ref={scroller}
      role={props.kind ?? "grid"}
      aria-label={props.label}
      aria-rowcount={count + (header === undefined ? 0 : 1)}
      aria-activedescendant={active >= first && active <= last ? `${base}-${active}` : undefined}
      tabIndex={0}
      className="rows relative min-h-0 flex-1 overflow-x-hidden overflow-y-auto overscroll-contain"
      onKeyDown={pressed}
      onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
        wasAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
        setView({ top: scrollTop, height: clientHeight });
      }}
    >
      {header !== undefined && (
        <div
          role="rowgroup"
          className="sticky top-0 z-10 h-7 border-b border-line bg-panel text-xs font-medium text-soft"
        >
          {header}
        </div>
      )}
      <div role="rowgroup" className="relative" style={{ height: total }}>
        {rows}
      </div>
    </div>
  );
}

/** Buttons and links in a row do what they say; whoever selects text does not open anything. */
function isOwnClick(target: EventTarget): boolean {
  if (!(target instanceof Element) || target.closest("a, button, input") !== null) return false;
  return getSelection()?.isCollapsed !== false;
}

interface MeasuredProps {
  readonly onHeight: (height: number) => void;
  readonly children: ReactNode;
}

function Measured({ onHeight, children }: MeasuredProps) {
  const element = useRef<HTMLDivElement>(null);
  const latest = useRef(onHeight);
  latest.current = onHeight;
  useLayoutEffect(() => {
    const box = element.current;
    if (box === null) return;
    const observer = new ResizeObserver(() => latest.current(box.offsetHeight));
    observer.observe(box);
    latest.current(box.offsetHeight);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={element} role="row">
      <div role="gridcell">{children}</div>
    </div>
  );
}
