import { saidIn } from "../events/agent-work.ts";
import type { RecordedCall } from "../events/event.ts";
import type { InboxItem } from "../events/inbox-item.ts";
import type { Store } from "../ports/store.ts";
import { revealHidden, visibleJson } from "../ports/visible-text.ts";
import { patchOfCall } from "../sessions/describe-call.ts";
import { labelOf } from "./commands/describe-run.ts";

/** What a person needs to answer a question. */
export interface DescribedAsk {
  /** The agent that asks. */
  readonly who: string;
  /** The task of the agent's run. */
  readonly task: string;
  readonly text: string;
  /** The change that an approval is about, as a diff with hidden characters shown. */
  readonly patch?: string;
  /** The call that an approval is about, with its whole input. */
  readonly call?: { readonly tool: string; readonly input: unknown };
}

/** Describes an open question: whose it is, and the call or the changes that an approval is about. */
export async function describeAsk(
  { store, home }: { readonly store: Store; readonly home: string },
  item: InboxItem,
): Promise<DescribedAsk> {
  const { ask, delegationId = "", kind, runId, title } = item;
  const text = ask?.question ?? item.text;
  const run = await store.readRun(runId);
  const asking = run?.delegations.get(delegationId);
  const from = { who: asking === undefined ? title : labelOf(asking), task: run?.task ?? "" };
  if (kind !== "approval") return { ...from, text };
  const about = await subjectOf(store, item);
  if (about?.callId === mergeCall && !text.includes("\ndiff --git ")) {
    return { ...from, text, ...(await changesOf({ store, home }, delegationId)) };
  }
  const call = about?.call && { tool: about.call.name, input: about.call.input };
  const patch = patchOfCall(call?.input);
  if (patch === undefined) return { ...from, text, ...(call && { call }) };
  // The diff shows all of the call, hidden characters included: its JSON would only repeat it.
  return { ...from, text: withoutInput(text, call?.input), patch: revealHidden(patch) };
}

/** The id of the approval of changes, which has no call whose id it could have. */
const mergeCall = "merge";
/** The longest diff in a question; the page of the delegation has more. */
const mostOfDiff = 100_000;

/** A diff that was too long for its question. */
async function changesOf(
  parts: { readonly store: Store; readonly home: string },
  id: string,
): Promise<Pick<DescribedAsk, "patch">> {
  // Loaded on demand: most questions are not about changes in git.
  const { KeptWork } = await import("./kept-work/kept-work.ts");
  const work = new KeptWork(parts);
  const diff = await work.diff(id, { maximumBytes: mostOfDiff }).catch(() => undefined);
  return diff === undefined ? {} : { patch: revealHidden(diff.text) };
}

interface Subject {
  readonly callId: string;
  readonly call: RecordedCall | undefined;
}

/** What an approval is about: a call of the agent, or the merge of its changes. */
async function subjectOf(
  store: Store,
  { id: seq, runId }: InboxItem,
): Promise<Subject | undefined> {
  const types = ["agent.model_turn", "agent.program_called", "agent.asked"] as const;
  const calls = new Map<string | undefined, readonly RecordedCall[]>();
  for await (const event of store.readEvents({ runId, types })) {
    const by = event.sub_agent_id;
    const said = saidIn(event)?.calls;
    // An agent program makes its calls at any time.
    const before = event.type === "agent.program_called" ? (calls.get(by) ?? []) : [];
    if (said !== undefined) calls.set(by, [...before, ...said]);
    if (event.type !== "agent.asked" || event.seq !== seq) continue;
    const { call_id: callId } = event.payload;
    return { callId, call: calls.get(by)?.find((call) => call.id === callId) };
  }
  return undefined;
}

/** The question with the path in place of the input, where it has all of the input. */
function withoutInput(text: string, input: unknown): string {
  const given = input as { readonly path: string };
  // The gate shows the input with its defaults.
  const shown = [given, { ...given, replace_all: false }].map((each) => visibleJson(each));
  const json = shown.find((each) => text.includes(each));
  return json === undefined ? text : text.replace(json, () => visibleJson(given.path));
}
