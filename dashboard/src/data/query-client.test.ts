import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { FollowedEvent } from "../../../src/surfaces/client/mandate-client.ts";
import type { LiveListener } from "./live.ts";
import { type ListPages, mergeFirstPage } from "./merge-first-page.ts";
import { followLive } from "./query-client.ts";

const restMs = 1000;
const finished = { type: "run.finished" } as FollowedEvent;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function follow() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  let heard: LiveListener = {};
  const stop = followLive(client, {
    listen: (listener) => {
      heard = listener;
      return () => undefined;
    },
  });
  const watch = (key: string, load: () => Promise<unknown>) => {
    const options = { queryKey: [key], queryFn: load, staleTime: Number.POSITIVE_INFINITY };
    const meta = { changedBy: ({ type }: FollowedEvent) => type === "run.finished" };
    const observer = new QueryObserver(client, { ...options, meta });
    return { observer, unwatch: observer.subscribe(() => undefined) };
  };
  const end = (): void => {
    stop();
    client.clear();
  };
  return { client, watch, end, tell: () => heard };
}

it("An answer is loaded again once after a burst of events that change it, and not after others", async () => {
  const { end, tell, watch } = follow();
  const load = vi.fn(async () => load.mock.calls.length);
  const { observer, unwatch } = watch("runs", load);
  await vi.advanceTimersByTimeAsync(0);
  tell().onEvents?.([{ type: "run.started" } as FollowedEvent]);
  await vi.advanceTimersByTimeAsync(restMs);
  expect(load).toHaveBeenCalledTimes(1);
  for (let burst = 0; burst < 20; burst++) tell().onEvents?.([finished, finished]);
  await vi.advanceTimersByTimeAsync(restMs);
  expect(observer.getCurrentResult().data).toBe(2);
  unwatch();
  end();
});

it("What changes while a request runs is asked for after that request, which is not cut short", async () => {
  const { end, tell, watch } = follow();
  const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let asked = 0;
  const { observer, unwatch } = watch("runs", async () => await answers[asked++]?.promise);
  await vi.advanceTimersByTimeAsync(0);
  tell().onEvents?.([finished]);
  await vi.advanceTimersByTimeAsync(restMs);
  expect(asked).toBe(1);
  answers[0]?.resolve("before the event");
  await vi.advanceTimersByTimeAsync(restMs);
  expect(asked).toBe(2);
  answers[1]?.resolve("after it");
  await vi.advanceTimersByTimeAsync(0);
  expect(observer.getCurrentResult().data).toBe("after it");
  unwatch();
  end();
});

it("An answer that no page shows is asked for when a page shows it again", async () => {
  const { end, tell, watch } = follow();
  const load = vi.fn(async () => load.mock.calls.length);
  watch("runs", load).unwatch();
  await vi.advanceTimersByTimeAsync(0);
  tell().onEvents?.([finished]);
  await vi.advanceTimersByTimeAsync(restMs);
  expect(load).toHaveBeenCalledTimes(1);
  const again = watch("runs", load);
  await vi.advanceTimersByTimeAsync(0);
  expect(load).toHaveBeenCalledTimes(2);
  again.unwatch();
  end();
});

it("A request that failed is repeated when the server answers again, and a gap reloads everything", async () => {
  const { end, tell, watch } = follow();
  const failing = vi.fn(async () => {
    if (failing.mock.calls.length === 1) throw new TypeError("no answer");
    return "there";
  });
  const fine = vi.fn(async () => "fine");
  const watched = [watch("failing", failing), watch("fine", fine)];
  await vi.advanceTimersByTimeAsync(0);
  tell().onBack?.();
  await vi.advanceTimersByTimeAsync(restMs);
  expect(watched[0]?.observer.getCurrentResult().data).toBe("there");
  expect(fine).toHaveBeenCalledTimes(1);
  tell().onGap?.();
  await vi.advanceTimersByTimeAsync(restMs);
  expect(fine).toHaveBeenCalledTimes(2);
  for (const { unwatch } of watched) unwatch();
  end();
});

const order = { idOf: (item: number) => item, placeOf: (item: number) => item };
const listOf = (...pages: readonly (readonly number[])[]): ListPages<number> => ({
  pages: pages.map((items, index) => ({
    items,
    nextCursor: index < pages.length - 1 ? `${items.at(-1)}` : "more",
  })),
  pageParams: pages.map(() => undefined),
});
const itemsOf = ({ pages }: ListPages<number>) => pages.map(({ items }) => items);

it("A first page that was read again adds what is new and drops what left the list", () => {
  const list = listOf([9, 8, 7], [6, 5, 4]);
  const merged = mergeFirstPage(list, { items: [10, 9, 7], nextCursor: "7" }, order);
  expect(itemsOf(merged)).toEqual([
    [10, 9, 7],
    [6, 5, 4],
  ]);
  expect(merged.pages.at(-1)?.nextCursor).toBe("more");
});

it("A list begins anew when its first page does not reach what is known, or is all there is", () => {
  const list = listOf([9, 8, 7], [6, 5, 4]);
  const far = { items: [30, 29, 28], nextCursor: "28" };
  expect(itemsOf(mergeFirstPage(list, far, order))).toEqual([[30, 29, 28]]);
  const all = { items: [9, 4], nextCursor: null };
  expect(itemsOf(mergeFirstPage(list, all, order))).toEqual([[9, 4]]);
});
