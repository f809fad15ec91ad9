/** The part of the peers' benchmark that a subject sees; see its README. */
export interface AgentSpec {
  readonly name: string;
  readonly instructions: string;
  readonly respond: (view: View) => Promise<Reply>;
  readonly tool?: ToolSpec;
  readonly child?: AgentSpec;
}

export interface View {
  readonly last: "user" | "tool";
  readonly lastText: string;
  countResults(): number;
}

export type Reply =
  | { readonly text: string }
  | {
      readonly calls: readonly {
        readonly id: string;
        readonly name: string;
        readonly args: unknown;
      }[];
    };

export interface ToolSpec {
  readonly name: "tick";
  readonly description: string;
  readonly run: (input: { readonly n: number }) => string;
}

export interface Host {
  build(spec: AgentSpec): Promise<(prompt: string) => Promise<string>>;
  stats(): Promise<{ readonly events: number; readonly delegations: number }>;
  close(): Promise<void>;
}

/** Loads our own subject; it is plain JavaScript, since the peers' benchmark runs it as well. */
export async function openSubject(variant: string, dir: string): Promise<Host> {
  const file = new URL("../subject/subject.mjs", import.meta.url).href;
  const subject = (await import(file)) as {
    open(options: { variant: string; dir: string }): Promise<Host>;
  };
  return subject.open({ variant, dir });
}
