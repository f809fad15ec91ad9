import type { InfiniteData } from "@tanstack/react-query";

/** Items in descending order of their place, and where the next page begins. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

export type ListPages<Item, Page = ListPage<Item>> = InfiniteData<Page, string | undefined>;

export interface ItemOrder<Item> {
  readonly idOf: (item: Item) => string | number;
  readonly placeOf: (item: Item) => number;
}

/**
 * A list after its first page was read again. The first page is exact as far as it reaches, so an
 * item that is missing there has left the list. When nothing of the list is in it, so much is new
 * that pages between may be missing: then the list begins again.
 */
export function mergeFirstPage<Item, Page extends ListPage<Item>>(
  list: ListPages<Item, Page>,
  first: Page,
  { idOf, placeOf }: ItemOrder<Item>,
): ListPages<Item, Page> {
  const ids = new Set(first.items.map(idOf));
  const isJoined = list.pages.some(({ items }) => items.some((item) => ids.has(idOf(item))));
  const last = first.items.at(-1);
  if (first.nextCursor === null || last === undefined || !isJoined) {
    return { pages: [first], pageParams: [undefined] };
  }
  const reach = placeOf(last);
  const isBeyond = (item: Item): boolean => placeOf(item) <= reach && !ids.has(idOf(item));
  const pages = list.pages.map((page, index) => ({
    ...(index === 0 ? first : page),
    items: [...(index === 0 ? first.items : []), ...page.items.filter(isBeyond)],
    nextCursor: page.nextCursor,
  }));
  return { ...list, pages };
}
