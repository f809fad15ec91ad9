import { useCallback } from "react";

/** Within this distance of the end, the list counts as scrolled to its end. */
const nearPixels = 40;
/** What a person scrolls with: a wheel, a finger, the bar, keys. */
const byHand = ["wheel", "touchmove", "pointerdown", "keydown"];

/**
 * For the element that scrolls; its one child is what grows. A reader at the end continues to
 * look at it, however it grows: rows that come into sight are higher than they were taken for, and
 * the browser scrolls on its own. Only a reader who scrolls away stays where they are.
 */
export function useFollowEnd(): (box: HTMLElement | null) => (() => void) | undefined {
  return useCallback((box) => {
    const content = box?.firstElementChild;
    if (!box || !content) return undefined;
    let isAtEnd = true;
    let isMoved = false;
    const moved = (): void => {
      isMoved = true;
    };
    const scrolled = (): void => {
      const isNear = box.scrollTop + box.clientHeight >= box.scrollHeight - nearPixels;
      if (isNear || isMoved) isAtEnd = isNear;
    };
    const follow = (): void => {
      if (!isAtEnd) return;
      isMoved = false;
      box.scrollTop = box.scrollHeight;
    };
    for (const name of byHand) box.addEventListener(name, moved, { passive: true });
    box.addEventListener("scroll", scrolled, { passive: true });
    const observer = new ResizeObserver(follow);
    observer.observe(box);
    observer.observe(content);
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", scrolled);
      for (const name of byHand) box.removeEventListener(name, moved);
    };
  }, []);
}
