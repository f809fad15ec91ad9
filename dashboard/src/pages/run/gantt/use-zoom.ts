import {
  type MouseEvent,
  type PointerEvent,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from "react";
import { useKeys } from "../../../shell/keys.ts";
import type { TimeWindow } from "./drawn-bars.ts";
import { moveSpan, type Span, zoomSpan } from "./zoom.ts";

const step = 1.6;
const stillPixels = 4;

/** Which part of the time is shown: by keys, by the wheel, by dragging. */
export function useZoom(
  whole: Span,
  width: number,
  box: RefObject<HTMLElement | null>,
  labelWidth: number,
) {
  const [zoomed, setZoomed] = useState<Span | null>(null);
  const span = zoomed ?? whole;
  const window: TimeWindow = { ...span, width };
  const zoom = (factor: number, around = (span.from + span.to) / 2): void => {
    const next = zoomSpan(span, factor, around, whole);
    setZoomed(next === whole ? null : next);
  };
  const move = (share: number): void => {
    if (zoomed) setZoomed(moveSpan(zoomed, (zoomed.to - zoomed.from) * share, whole));
  };
  const reset = (): void => setZoomed(null);
  useKeys([
    { keys: "+", label: "Gantt: closer", run: () => zoom(step) },
    { keys: "-", label: "Gantt: farther", run: () => zoom(1 / step) },
    { keys: "0", label: "Gantt: the whole run", run: reset },
  ]);

  const latest = useRef({ zoom, move, window, labelWidth });
  latest.current = { zoom, move, window, labelWidth };
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const turned = (event: WheelEvent): void => {
      const { labelWidth: left, move: pan, window: shown, zoom: closer } = latest.current;
      const isZoom = event.ctrlKey || event.metaKey;
      const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
      if (!isZoom && Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
      event.preventDefault();
      const x = event.clientX - element.getBoundingClientRect().left - left;
      const around = shown.from + (x / shown.width) * (shown.to - shown.from);
      if (isZoom) closer(Math.exp(-event.deltaY / 300), around);
      else pan(sideways / shown.width);
    };
    // React listens to wheels passively, and the page would be zoomed as well.
    element.addEventListener("wheel", turned, { passive: false });
    return () => element.removeEventListener("wheel", turned);
  }, [box]);

  const drag = useRef<{ readonly from: number; x: number } | null>(null);
  const handlers = {
    onPointerDown({ clientX, pointerType }: PointerEvent): void {
      drag.current = zoomed && pointerType === "mouse" ? { from: clientX, x: clientX } : null;
    },
    onPointerMove({ buttons, clientX }: PointerEvent): void {
      if (drag.current === null || buttons === 0) return;
      move((drag.current.x - clientX) / width);
      drag.current.x = clientX;
    },
    onClickCapture(event: MouseEvent): void {
      // The end of a drag is not a click.
      const isMoved = drag.current && Math.abs(drag.current.from - event.clientX) > stillPixels;
      if (isMoved) event.stopPropagation();
      drag.current = null;
    },
  };
  return { window, isZoomed: zoomed !== null, zoom, move, reset, handlers };
}
