import { resolve } from "node:path";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import type { Arguments } from "../arguments.ts";
import { announceModel, attend, displayFor } from "../attend.ts";
import { exitCode } from "../exit-code.ts";
import { requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { offerInterrupted } from "../offer-interrupted.ts";
import { chosenPlaybook, openRuntime } from "../open-runtime.ts";
import { applicationFor, playbookOf } from "../playbook-application.ts";
import { resumeBeside } from "../resume-runs.ts";
import { withStore } from "../with-store.ts";
import type { Work } from "../work-on.ts";
import { findSession } from "./find-session.ts";

interface Continued {
  readonly sessionId: string;
  readonly message: string;
  /** Scripted words go on as such, unless another playbook was asked for. */
  readonly playbook: string | undefined;
  readonly workspace: string | null;
}

/** `run --continue`: the next message of a session, in a new run on the conversation so far. */
export async function continueRun(given: Arguments, io: Io): Promise<number> {
  refuseWhatIsAgreed(given);
  const { message, playbook, sessionId, workspace } = await withStore(io, (store) =>
    understand(store, given, io),
  );
  const cwd = workspace ?? io.cwd;
  const readOnly = given.flag("read-only");
  const runtime = await openRuntime(given, io, applicationFor(playbook), { cwd });
  try {
    await requireConsent(workspace, { given, io, runtime });
    const display = displayFor(given, io);
    const except = await runtime.store.findRun(sessionId);
    const beside = await offerInterrupted({ runtime, io, display, except });
    if (beside === "left") return exitCode.interrupted;
    const work: Work = {
      runtime,
      io,
      display,
      async begin(watch) {
        announceModel(runtime.models.defaultModel, playbook, work);
        await resumeBeside(work, watch, beside);
        const limits = { isTyped: true, readOnly, session: given.text("session-id") };
        const started = await runtime.engine.continueSession(sessionId, message, limits);
        await watch(started);
        return started;
      },
    };
    return await attend(given, work);
  } finally {
    await runtime.close();
  }
}

/** Who it is and what it may do was agreed when the session began. */
function refuseWhatIsAgreed(given: Arguments): void {
  const agreed = ["profile", "context", "max-tokens", "max-cost", "timeout"];
  const one = agreed.find((name) => given.text(name) !== undefined);
  if (one === undefined) return;
  throw new MandateError(
    "usage",
    `--${one} was agreed when the session began, and goes on as it was. Leave it out, or start another session without --continue.`,
  );
}

/** The first word is the session if there is one of that name, and part of the message if not. */
async function understand(store: Store, given: Arguments, io: Io): Promise<Continued> {
  const [first = "", ...rest] = given.words;
  const isId = await isSession(store, first);
  // A mistyped id must not become a message to whatever session was the latest.
  if (!isId && looksLikeId(first)) {
    throw new MandateError(
      "unknown-run",
      `There is no session ${first} here. ${io.program} sessions lists what can be continued. If it is what you say: put all of it in quotes.`,
    );
  }
  const message = (isId ? rest : given.words).join(" ");
  if (message.trim() === "") {
    throw new MandateError(
      "task-required",
      `A session goes on with a message: ${io.program} run --continue ${isId ? first : "[ID]"} "what is to be done next"`,
    );
  }
  const folder = resolve(io.cwd, given.text("workspace") ?? ".");
  const sessionId = await findSession(store, isId ? first : undefined, folder, io);
  const run = await store.readRun((await store.findRun(sessionId)) ?? "");
  const playbook = chosenPlaybook(given, io) ?? playbookOf(run?.application ?? "");
  return { sessionId, message, playbook, workspace: run?.workspace ?? null };
}

/** No word of a language: there are some with six letters from a to f, and none with digits. */
function looksLikeId(word: string): boolean {
  return /^(?:r[0-9a-f]{6,8}|(?=.*\d)[0-9a-f]{6}(?:[0-9a-f]{2})?)$/.test(word);
}

async function isSession(store: Store, word: string): Promise<boolean> {
  if (!/^r?[0-9a-f]{6,8}$/.test(word)) return false;
  return (await store.findRun(word)) !== undefined;
}
