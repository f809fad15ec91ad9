import type { ProgramHost } from "../../delegations/agent-programs.ts";
import type { ProgramReport } from "../../events/program-payloads.ts";
import { isRecord } from "../../ports/parse-json.ts";

/** The most text of one turn that is kept in memory. */
const longestText = 1_000_000;
const mostCalls = 5000;

type CallReport = Extract<ProgramReport, { what: "call" }>;

/**
 * What a program says in one turn, as reports. Text counts as said when a call follows; the rest is the
 * answer. Updates are read leniently: what is not understood is ignored.
 */
export class TurnReports {
  readonly #host: Pick<ProgramHost, "report" | "said">;
  readonly #calls = new Map<string, CallReport>();
  readonly #ended = new Set<string>();
  #text = "";
  #plan = "";

  constructor(host: Pick<ProgramHost, "report" | "said">) {
    this.#host = host;
  }

  see(update: Readonly<Record<string, unknown>>): void {
    switch (update["sessionUpdate"]) {
      case "agent_message_chunk":
        this.#say(textIn(update["content"]));
        break;
      case "tool_call":
        this.#flush();
        this.#call(update);
        break;
      case "tool_call_update":
        this.#call(update);
        break;
      case "plan":
        this.#planned(update["entries"]);
        break;
      default:
    }
  }

  /** The turn is over: gives the text since the last call. */
  end(): string {
    for (const call of this.#calls.values()) this.#host.report(call);
    this.#calls.clear();
    const text = this.#text.trim();
    this.#text = "";
    return text;
  }

  #say(said: string): void {
    const part = this.#text === "" ? said.trimStart() : said;
    if (part === "" || this.#text.length > longestText) return;
    this.#text += part;
    this.#host.said(part);
  }

  #flush(): void {
    const text = this.#text.trim();
    this.#text = "";
    if (text !== "") this.#host.report({ what: "text", text });
  }

  #call(update: Readonly<Record<string, unknown>>): void {
    const id = update["toolCallId"];
    if (typeof id !== "string") return;
    const known = this.#calls.get(id);
    // Some programs update a call after its end.
    if (this.#ended.has(id)) return;
    if (known === undefined && this.#calls.size + this.#ended.size >= mostCalls) return;
    const input = detailOf(update["rawInput"]) ?? known?.input;
    const output = outputOf(update) ?? known?.output;
    const call: CallReport = {
      what: "call",
      call_id: id,
      title: wordIn(update["title"]) ?? known?.title ?? "call",
      kind: wordIn(update["kind"]) ?? known?.kind ?? "other",
      outcome: outcomeIn(update["status"]) ?? "unknown",
      ...(input !== undefined && { input }),
      ...(output !== undefined && { output }),
    };
    if (call.outcome === "unknown") {
      this.#calls.set(id, call);
      if (known === undefined) this.#host.report({ ...call, outcome: "begun" });
      return;
    }
    this.#calls.delete(id);
    this.#ended.add(id);
    this.#host.report(call);
  }

  #planned(entries: unknown): void {
    if (!Array.isArray(entries)) return;
    const read = entries.filter(isRecord).map(({ content, status }) => {
      return { text: wordIn(content) ?? "", status: wordIn(status) ?? "" };
    });
    const plan = JSON.stringify(read);
    if (plan === this.#plan) return;
    this.#plan = plan;
    this.#host.report({ what: "plan", entries: read });
  }
}

function outcomeIn(status: unknown): CallReport["outcome"] | undefined {
  return status === "completed" || status === "failed" ? status : undefined;
}

function wordIn(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function detailOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The text of a content block; of other kinds their name. */
function textIn(content: unknown): string {
  if (!isRecord(content)) return "";
  const { text, type } = content;
  if (typeof text === "string") return text;
  return typeof type === "string" && type !== "text" ? `[${type}]` : "";
}

function outputOf(update: Readonly<Record<string, unknown>>): string | undefined {
  const { content, rawOutput } = update;
  const parts = Array.isArray(content) ? content.filter(isRecord) : [];
  const text = parts
    .map((part) =>
      part["type"] === "diff" ? `changed ${wordIn(part["path"]) ?? ""}` : textIn(part["content"]),
    )
    .filter((part) => part !== "")
    .join("\n");
  return text === "" ? detailOf(rawOutput) : text;
}
