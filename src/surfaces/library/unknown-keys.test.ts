import { afterEach, beforeEach, expect, it } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { createMandate, type Mandate, type MandateOptions } from "./mandate.ts";

const options: MandateOptions = {
  database: ":memory:",
  environment: {},
  scripted: scriptedModel(() => ({ text: "done" })),
  profiles: [
    {
      name: "worker",
      description: "Works.",
      capabilities: ["subtask"],
      prompt: "Work.",
      origin: "test",
    },
  ],
};

/** Its helper is its own business; its hook is not called by that name. */
class MisspeltGuard {
  turn(_context: unknown, next: () => unknown): unknown {
    return next();
  }

  cal(): void {
    this.log();
  }

  log(): void {}
}

class Guard {
  readonly seen: string[] = [];

  turn(_context: unknown, next: () => unknown): unknown {
    this.log();
    return next();
  }

  log(): void {
    this.seen.push("turn");
  }
}

let mandate: Mandate;

beforeEach(async () => {
  mandate = await createMandate(options);
});

afterEach(() => mandate.close());

/** As JavaScript says it: nobody has looked at the types. */
const unchecked = (value: unknown) => value as never;

it("a parameter that nobody knows is refused in every call, and nothing is begun", async () => {
  const by = { id: "ann", role: "operator" };
  const calls: readonly (readonly [() => unknown, string])[] = [
    [() => mandate.delegate(unchecked({ profile: "worker", task: "x", budget: 10 })), "delegate: "],
    [
      () => mandate.start(unchecked({ profile: "worker", task: "x", workspce: "." })),
      '"workspace"?',
    ],
    [() => mandate.start(unchecked({ profile: "worker", task: "x", resumedFrom: "a" })), "start: "],
    [() => mandate.fork("r1", unchecked({ at: 1, taks: "x" })), 'Did you mean "task"?'],
    [() => mandate.send("a", "x", unchecked({ isTypd: true })), 'Did you mean "isTyped"?'],
    [() => mandate.resume("r1", unchecked({ timout: 1 })), 'Did you mean "timeout"?'],
    [() => mandate.diff("a", unchecked({ maxBytes: 1 })), "diff: "],
    [() => mandate.merge("a", unchecked({ skipCheks: true })), 'Did you mean "skipChecks"?'],
    [() => mandate.discard("a", unchecked({ delete: true })), "discard: "],
    [async () => mandate.events(unchecked({ run: "r1" })), "events: "],
    [() => mandate.tools(unchecked({ clent: "x" })), 'Did you mean "client"?'],
    [() => mandate.command("/help", unchecked({ ...by, readonly: true })), '"readOnly"?'],
    [() => mandate.complete("/h", unchecked({ ...by, workspce: "." })), '"workspace"?'],
    [() => mandate.verify(unchecked({ run: "r1" })), "verify: "],
    [() => mandate.sessions.list(unchecked({ limt: 1 })), 'Did you mean "limit"?'],
    [() => mandate.sessions.continue("a", "x", unchecked({ readonly: true })), '"readOnly"?'],
    [() => mandate.inbox.read(unchecked({ runID: "r1" })), 'Did you mean "runId"?'],
    [() => mandate.inbox.open(unchecked({ kind: ["ask"] })), 'Did you mean "kinds"?'],
    [() => mandate.inbox.unread(unchecked({ raeder: "ann" })), 'Did you mean "reader"?'],
    [() => mandate.memory.list(unchecked({ tag: ["x"] })), 'Did you mean "tags"?'],
    [() => mandate.delegate(unchecked("do it")), "delegate takes an object, not string."],
    [() => mandate.delegate(unchecked(undefined)), "delegate takes an object, not undefined."],
  ];
  for (const [call, sentence] of calls) {
    // Every one as a rejection: nobody who awaits meets an error on the way there.
    await expect(Promise.resolve(call()), sentence).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining(sentence),
    });
  }
  for await (const event of mandate.events()) expect(event).toBeUndefined();
});

it("says what a call takes where nothing is near", async () => {
  const call = mandate.delegate(unchecked({ profile: "worker", task: "x", budget: 10 }));
  await expect(call).rejects.toThrow(
    /^delegate: "budget" is not known here\. It takes: profile, task, context, maxTokens, maxTokenBudget, /,
  );
});

it("opens nothing under an option that nobody knows", async () => {
  const opened: readonly (readonly [unknown, string])[] = [
    [
      { databse: ":memory:" },
      'createMandate: "databse" is not known here. Did you mean "database"?',
    ],
    [{ profles: [] }, 'Did you mean "profiles"?'],
    [{ limits: { runTokns: 1 } }, 'createMandate: limits: "runTokns"'],
    [{ flags: { modl: "a/b" } }, 'createMandate: flags: "modl"'],
    [{ playbook: { path: "x" } }, 'createMandate: playbook: "path"'],
    [{ principal: { name: "ann", role: "viewer" } }, 'createMandate: principal: "name"'],
    [{ middleware: [{ calls: () => undefined }] }, "Did you mean call?"],
    [{ middleware: [{ turn: () => undefined, onCall: () => undefined }] }, '"onCall" is none of'],
    [{ middleware: [{ turn: () => undefined, delegations() {} }] }, "Did you mean delegation?"],
    [{ middleware: [new MisspeltGuard()] }, "Did you mean call?"],
    [{ middleware: [{ call: "no" }] }, "this one has call."],
    [{ middleware: [{}] }, "this one has nothing."],
  ];
  for (const [wrong, sentence] of opened) {
    await expect(createMandate({ ...options, ...(wrong as object) }), sentence).rejects.toThrow(
      sentence,
    );
  }
});

it("a middleware may hold what it needs beside its hooks", async () => {
  const guard = new Guard();
  const guarded = await createMandate({ ...options, middleware: [unchecked(guard)] });
  await guarded.delegate({ profile: "worker", task: "x" });
  await guarded.close();
  expect(guard.seen).toEqual(["turn"]);
});

it("a profile of a program is judged as a file is, and never dropped", async () => {
  const whole = options.profiles?.[0];
  const given: readonly (readonly [unknown, string])[] = [
    [{ ...whole, tols: [] }, 'The profile "worker": unknown key "tols"; did you mean "tools"?'],
    [{ ...whole, limits: { tokns: 1 } }, 'unknown key "tokns"; did you mean "tokens"?'],
    [{ ...whole, tools: "read_file" }, 'The profile "worker": tools: expected'],
    [{ ...whole, tools: null }, '"tools" has no value; write [] for none'],
    [{ ...whole, name: "Two words" }, "must be 1 to 64 lower-case letters"],
    [{ ...whole, name: undefined }, "give it a name"],
    [{ name: "x" }, "has no description"],
    [{ name: "x", description: "d" }, "has no prompt"],
  ];
  for (const [profile, sentence] of given) {
    const opening = createMandate({ ...options, profiles: [unchecked(profile)] });
    await expect(opening, sentence).rejects.toMatchObject({
      code: "profile-invalid",
      message: expect.stringContaining(sentence),
    });
  }
});

it("a profile or an agent that is nobody's is told with who was meant", async () => {
  await expect(mandate.delegate({ profile: "reseacher", task: "x" })).rejects.toThrow(
    /^There is no profile 'reseacher'\. Did you mean 'researcher'\?$/,
  );
  const entry = { agentId: "@writer", profileId: "worker", description: "Writes." };
  await mandate.control.register(entry, { id: "ann", role: "operator" });
  await expect(mandate.delegate({ profile: "@writr", task: "x" })).rejects.toThrow(
    /^There is no agent '@writr'\. Did you mean '@writer'\?$/,
  );
  await expect(mandate.delegate({ profile: "somebody-else", task: "x" })).rejects.toThrow(
    /^There is no profile 'somebody-else'\. Known: analyst, .*, worker, writer\.$/,
  );
});
