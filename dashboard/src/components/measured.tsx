import { type ReactNode, useLayoutEffect, useRef } from "react";

interface MeasuredProps {
  readonly onHeight: (height: number) => void;
  readonly children: ReactNode;
}

/** What is below a row, as high as it is. */
export function Measured({ onHeight, children }: MeasuredProps) {
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
