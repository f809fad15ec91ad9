/** Something of a conversation that has been said, and is drawn once. Texts are as they came. */
export type Entry =
  | { readonly kind: "person"; readonly text: string }
  | { readonly kind: "agent"; readonly who: string; readonly text: string }
  /** A tool call, or a child, in a line. */
  | {
      readonly kind: "line";
      readonly mark: EntryMark;
      readonly who: string;
      readonly text: string;
      /** A second line, where there is something to tell. */
      readonly detail?: string;
    }
  | {
      readonly kind: "question";
      readonly who: string;
      readonly text: string;
      /** Null: nobody answered. */
      readonly answer: string | null;
    }
  | {
      readonly kind: "remark";
      readonly from: string;
      readonly severity: string;
      readonly text: string;
    }
  | {
      readonly kind: "reply";
      readonly command: string;
      readonly ok: boolean;
      readonly text: string;
    }
  | { readonly kind: "note"; readonly tone: NoteTone; readonly text: string }
  | { readonly kind: "rule"; readonly text: string };

export type EntryMark = "done" | "failed" | "refused" | "stopped" | "unknown";
export type NoteTone = "plain" | "warn" | "bad";
