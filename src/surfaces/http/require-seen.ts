import { MandateError, type MandateErrorCode } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";

/** The parameters of paths that name a run or a part of one, and what each is called. */
const naming: Readonly<Record<string, readonly [code: MandateErrorCode, what: string]>> = {
  runId: ["unknown-run", "run"],
  delegationId: ["unknown-delegation", "delegation"],
  sessionId: ["unknown-delegation", "session"],
  askId: ["unknown-ask", "question"],
};

/**
 * Refuses a path that names what the store does not show, whichever operation it is and whatever
 * that asks of the engine. With the store of a principal, the runs of others are refused like runs
 * that do not exist.
 */
export async function requireSeen(
  store: Pick<Store, "findRun">,
  params: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, id] of Object.entries(params)) {
    const said = Object.hasOwn(naming, name) ? naming[name] : undefined;
    if (said === undefined || (await store.findRun(id)) !== undefined) continue;
    const [code, what] = said;
    throw new MandateError(code, `There is no ${what} ${id}.`);
  }
}
