/** A view of the list of runs that a person saved in this browser. */
export interface SavedView {
  readonly name: string;
  /** The query of the address. */
  readonly query: string;
}

const key = "mandate-run-views";
const most = 30;

/** What another version or a person wrote into the storage is read leniently. */
export function readViews(storage: Pick<Storage, "getItem"> = localStorage): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(storage.getItem(key) ?? "[]");
    if (!Array.isArray(stored)) return [];
    return stored.filter(isView).slice(0, most);
  } catch {
    return [];
  }
}

export function writeViews(
  views: readonly SavedView[],
  storage: Pick<Storage, "setItem"> = localStorage,
): void {
  try {
    storage.setItem(key, JSON.stringify(views.slice(-most)));
  } catch {
    // Without storage the views last as long as the page.
  }
}

function isView(value: unknown): value is SavedView {
  const { name, query } = (value ?? {}) as Partial<SavedView>;
  return typeof name === "string" && name !== "" && name.length <= 60 && typeof query === "string";
}
