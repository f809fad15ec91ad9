import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { RowHeights } from "./row-heights.ts";

interface ListViewOptions {
  readonly count: number;
  readonly rowHeight: number;
  /** The height of the header that stays. */
  readonly above: number;
  /** Rows below which something is shown, ascending, and how high that is. */
  readonly expanded: readonly { readonly index: number; readonly height: number }[];
  readonly onEnd?: (() => void) | undefined;
  readonly followsEnd?: boolean | undefined;
}

export interface ListView {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly heights: RowHeights;
  /** The height of all rows. */
  readonly total: number;
  /** The rows that have to exist. */
  readonly first: number;
  readonly last: number;
  /** How many rows a page has. */
  readonly page: number;
  /** The row that keys are about; -1: none yet. */
  readonly active: number;
  pick(index: number): void;
  moveTo(index: number): void;
  showDetails(index: number, height: number): void;
  scrolled(element: HTMLElement): void;
}

const overscan = 8;

/** Which rows of a list are in sight, which one is active, and how it is brought into sight. */
export function useListView(options: ListViewOptions): ListView {
  const { above, count, expanded, followsEnd = false, onEnd, rowHeight } = options;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(-1);
  const heights = new RowHeights(rowHeight, expanded);
  const total = heights.topOf(count);
  const first = Math.max(heights.indexAt(view.top) - overscan, 0);
  const last = Math.min(heights.indexAt(view.top + view.height) + overscan, count - 1);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // A row that was opened or picked is scrolled into view.
  const wasAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (followsEnd && wasAtEnd.current && element) element.scrollTop = total + above;
  }, [followsEnd, total, above]);

  useEffect(() => {
    if (count > 0 && last >= count - 1) onEnd?.();
  }, [last, count, onEnd]);

  return {
    ...{ scroller, heights, total, first, last, active },
    page: Math.max(Math.floor(view.height / rowHeight) - 2, 1),
    pick(index) {
      wasAtEnd.current = false;
      setActive(index);
    },
    moveTo(wanted) {
      const element = scroller.current;
      if (element === null || count === 0) return;
      const index = Math.min(Math.max(wanted, 0), count - 1);
      setActive(index);
      wasAtEnd.current = index === count - 1;
      element.focus({ preventScroll: true });
      const top = heights.topOf(index);
      const bottom = top + rowHeight - (element.clientHeight - above);
      if (top < element.scrollTop) element.scrollTop = top;
      else if (bottom > element.scrollTop) element.scrollTop = bottom;
    },
    /** What was just opened is to be seen, as far as there is room. */
    showDetails(index, height) {
      const element = scroller.current;
      if (element === null || index !== active) return;
      const top = heights.topOf(index);
      const bottom = top + rowHeight + height - (element.clientHeight - above);
      requestAnimationFrame(() => {
        if (bottom > element.scrollTop) element.scrollTop = Math.min(bottom, top);
      });
    },
    scrolled({ clientHeight, scrollHeight, scrollTop }) {
      wasAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
      setView({ top: scrollTop, height: clientHeight });
    },
  };
}
