/** A run that the conversation waits for: the person's last message, being worked on. */
export interface Turn {
  readonly runId: string;
  readonly rootId: string;
  readonly profile: string;
  readonly startedAt: number;
  /** The last event of the run that is part of this. */
  readonly seq: number;
  /** What has arrived of the answer that is being given. */
  readonly streamed: string;
  /** Calls of the root that have not ended. */
  readonly calls: readonly OpenCall[];
  /** Who works for the root, or watches it. */
  readonly children: readonly OpenChild[];
  /** Names of everybody in the run, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Questions that wait, by ask, with the id of each in the inbox. */
  readonly asked: ReadonlyMap<
    string,
    { readonly who: string; readonly text: string; readonly item: number }
  >;
  readonly lastSaid: string;
  readonly output: string;
  readonly failure: string;
  /** What the person wants to become of it. */
  readonly ending: "no" | "cancel" | "by-contract" | "after-children";
}

export interface OpenCall {
  readonly callId: string;
  readonly tool: string;
  readonly about: string;
  readonly isStarted: boolean;
  /** Shown as something else: the child that it made, the question that it asked. */
  readonly isShownOtherwise: boolean;
}

export interface OpenChild {
  readonly id: string;
  readonly label: string;
  readonly title: string;
  readonly createdAt: number;
  readonly isWatching: boolean;
}

export function beginTurn(about: Pick<Turn, "runId" | "rootId" | "profile" | "startedAt">): Turn {
  return {
    ...about,
    seq: 0,
    streamed: "",
    calls: [],
    children: [],
    names: new Map(),
    asked: new Map(),
    lastSaid: "",
    output: "",
    failure: "",
    ending: "no",
  };
}
