import { describe, expect, it } from "vitest";
import type { InboxItem } from "../events/inbox-item.ts";
import {
  type EngineOptions,
  openEngine,
  type Script,
  type TestEngine,
  testProfile,
} from "../testing/index.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { until } from "../testing/until.ts";
import { followInbox, Inbox } from "./inbox.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "ask_user"] }),
  testProfile("reviewer", { tools: ["ask_user"] }),
];

/** The lead has something reviewed, and the reviewer asks. */
const model: Script = ({ caller, messages }) => {
  if (caller.turn > 1)
    return caller.profile === "lead" ? "All done." : `Fine: ${messages.at(-1)?.text}`;
  return caller.profile === "lead"
    ? { calls: [{ tool: "delegate_task", input: { profile: "reviewer", task: "look at it" } }] }
    : { calls: [{ tool: "ask_user", input: { message: "Strict or kind?" } }] };
};

const open = (more: EngineOptions = {}): Promise<TestEngine> =>
  openEngine({ profiles, model, ...more });

async function openAsk(inbox: Inbox): Promise<InboxItem & Required<Pick<InboxItem, "ask">>> {
  return until("the question", async () => {
    const [item] = await inbox.open();
    return item?.ask && { ...item, ask: item.ask };
  });
}

const kindsOf = (items: readonly InboxItem[]): readonly string[] => items.map(({ kind }) => kind);

describe("the inbox of a run", () => {
  it("tells what was asked, how it was answered, what was handed in, and how all ended", async () => {
    await using mandate = await open();
    const inbox = new Inbox(mandate.store);
    const { runId, result } = await mandate.start({ task: "review", profile: "lead" });
    const { ask, ...asked } = await openAsk(inbox);
    expect(asked).toMatchObject({ runId, kind: "ask", text: "Strict or kind?", isOpen: true });
    await inbox.answer(ask.id, "kind");
    await result;
    const items = await inbox.read();
    expect(items).toMatchObject([
      { kind: "ask", title: "reviewer asks", isOpen: false },
      { kind: "answer", title: "reviewer was answered: Strict or kind?", text: "kind" },
      { kind: "review", title: "reviewer reviewed: look at it", text: "Fine: kind" },
      { kind: "run", title: "Run succeeded: review", text: "All done." },
    ]);
    expect(await inbox.open()).toEqual([]);
  });

  it("is there again for every reader, however often it is read", async () => {
    await using mandate = await open({ limits: { askDeadlineMs: 1 } });
    const [ann, bob] = ["ann", "bob"].map((reader) => new Inbox(mandate.store, { reader }));
    if (!ann || !bob) throw new Error("two readers");
    await mandate.run({ task: "review", profile: "lead" });
    const items = await ann.unread();
    expect(kindsOf(items)).toEqual(["ask", "answer", "review", "run"]);
    expect(await ann.unread()).toEqual(items);
    expect(await ann.unreadCount()).toBe(4);
    await ann.markRead(items[2]?.id ?? 0);
    expect(await ann.unread()).toEqual(items.slice(3));
    await ann.markRead(items[0]?.id ?? 0);
    expect([await ann.unreadCount(), await bob.unreadCount()]).toEqual([1, 4]);
    expect(await bob.unread({ reader: "ann", limit: 1 })).toEqual(items.slice(3, 4));
    expect(await bob.read()).toEqual(items);
  });

  it("tells listeners of every item once and in order, also of another process's", async () => {
    await using mandate = await open({ limits: { askDeadlineMs: 1 } });
    await mandate.run({ task: "before", profile: "lead" });
    const second = await mandate.another({ profiles, model, limits: { askDeadlineMs: 1 } });
    const inbox = new Inbox(mandate.store);
    const [heard, afterwards]: [InboxItem[], InboxItem[]] = [[], []];
    const last = (await inbox.read()).at(-1)?.id ?? 0;
    const stop = inbox.on((item) => {
      heard.push(item);
      if (heard.length === 1) throw new Error("a display that breaks");
    });
    inbox.on((item) => afterwards.push(item));
    const warned = new Promise((resolve) => process.once("warning", resolve));
    await Promise.all(
      [mandate, second, second].map((one) => one.run({ task: "now", profile: "lead" })),
    );
    const items = await inbox.read({ after: last });
    expect(items).toHaveLength(12);
    await until("both have heard of all", () => heard.length >= 12 && afterwards.length >= 12);
    // An ask was open when it was heard of.
    const idsOf = (some: readonly InboxItem[]) => some.map(({ id }) => id);
    expect(idsOf(heard)).toEqual(idsOf(items));
    expect(idsOf(afterwards)).toEqual(idsOf(items));
    await warned;
    stop();
    await mandate.run({ task: "after", profile: "lead" });
    await until("the other one hears on", () => afterwards.length >= 16);
    expect([heard.length, afterwards.length]).toEqual([12, 16]);
  });
});

describe("an answer that does not count", () => {
  it("is refused with the reason, and nothing is written", async () => {
    await using mandate = await open({ limits: { askDeadlineMs: 5 } });
    const inbox = new Inbox(mandate.store);
    const { runId } = await mandate.run({ task: "review", profile: "lead" });
    const before = await mandate.events(runId);
    const [ask] = await inbox.read({ kinds: ["ask"] });
    const answer = inbox.answer(ask?.ask?.id ?? "", "kind");
    await expect(answer).rejects.toMatchObject({ code: "ask-closed" });
    await expect(answer).rejects.toThrow(/ran out of time: it no longer waits for an answer/);
    expect(await mandate.events(runId)).toEqual(before);
  });

  it("says so when a person, the default or the agent's end came first", async () => {
    await using mandate = await open();
    const inbox = new Inbox(mandate.store);
    const answered = await mandate.start({ task: "review", profile: "lead" });
    const { ask } = await openAsk(inbox);
    const outcomes = await Promise.all(
      ["kind", "strict"].map((text) => inbox.tryAnswer(ask.id, text)),
    );
    // Which of two that are sent at once arrives first is nobody's to say.
    expect(
      outcomes.toSorted((one, other) => Number(other.accepted) - Number(one.accepted)),
    ).toMatchObject([
      { accepted: true },
      { accepted: false, reason: expect.stringMatching(/was answered already/) },
    ]);
    await answered.result;
    const cancelled = await mandate.start({ task: "review", profile: "lead" });
    const late = await openAsk(inbox);
    await mandate.engine.cancel(cancelled.runId, "never mind");
    await cancelled.result;
    await expect(inbox.answer(late.ask.id, "x")).rejects.toThrow(/agent that asked .* has ended/);
    expect(await inbox.open()).toEqual([]);
    const defaults = await mandate.another({
      profiles,
      model,
      limits: { askDeadlineMs: 5, askDefault: "kind" },
    });
    await defaults.run({ task: "review", profile: "lead" });
    const asks = await inbox.read({ kinds: ["ask"] });
    const last = inbox.answer(asks.at(-1)?.ask?.id ?? "", "x");
    await expect(last).rejects.toThrow(/its default answered/);
  });

  it("is a text that somebody can have meant to say, and nothing is written otherwise", async () => {
    await using mandate = await open();
    const inbox = new Inbox(mandate.store);
    const { result } = await mandate.start({ task: "review", profile: "lead" });
    const { ask } = await openAsk(inbox);
    for (const text of ["", " \n\t", "x".repeat(32_001), "x".repeat(1_000_000), null as never]) {
      await expect(inbox.answer(ask.id, text)).rejects.toMatchObject({ code: "usage" });
    }
    expect(await inbox.open()).toHaveLength(1);
    await inbox.answer(ask.id, "x".repeat(32_000));
    expect((await result).status).toBe("completed");
  });

  it("is an error where there is no such question", async () => {
    await using mandate = await open({ limits: { askDeadlineMs: 1 } });
    const inbox = new Inbox(mandate.store);
    const { runId, delegationId } = await mandate.run({ task: "review", profile: "lead" });
    for (const id of ["qffffff", "ffffff", "nonsense", "", runId, delegationId]) {
      await expect(inbox.answer(id, "x")).rejects.toMatchObject({ code: "unknown-ask" });
    }
  });
});

describe("what is asked of an inbox wrongly", () => {
  it("is said in a sentence", async () => {
    await using mandate = await open();
    const inbox = new Inbox(mandate.store);
    const wrong = [
      inbox.read({ limit: 0 }),
      inbox.read({ limit: Number.NaN }),
      inbox.read({ after: -1 }),
      inbox.read({ before: 0.5 }),
      inbox.read({ kinds: ["asks" as "ask"] }),
      inbox.markRead(Number.POSITIVE_INFINITY),
      inbox.markRead(1, " ann"),
      inbox.unread({ reader: "" }),
      inbox.unreadCount("x".repeat(201)),
    ];
    for (const one of wrong) await expect(one).rejects.toMatchObject({ code: "usage" });
    expect(() => new Inbox(mandate.store, { reader: "\u001b[31m" })).toThrow(/reader's name/);
  });
});

describe("who follows the inbox", () => {
  it("is told all that came while it could not be read, once it can be", async () => {
    await using mandate = await open();
    const { store } = mandate;
    const told: string[] = [];
    const { readInbox } = store;
    let refused = 0;
    store.readInbox = () => {
      refused += 1;
      return Promise.reject(new Error("The database is away."));
    };
    const clock = new ManualClock();
    const unfollow = followInbox(store, ({ kind }) => told.push(kind), clock);
    const { result } = await mandate.start({ task: "review", profile: "lead" });
    await until("it could not be read", () => refused > 0 && clock.waiting === 1);
    store.readInbox = readInbox;
    await clock.advance(1000);
    const { ask } = await openAsk(new Inbox(store));
    await new Inbox(store).answer(ask.id, "kind");
    await result;
    const stored = kindsOf(await new Inbox(store).read());
    await until("all are told", () => told.length >= stored.length);
    expect(told).toEqual(stored);
    unfollow();
  });
});
