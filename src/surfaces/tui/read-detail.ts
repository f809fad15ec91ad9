import { labelOf } from "../../application/commands/describe-run.ts";
import { KeptWork } from "../../application/kept-work/kept-work.ts";
import { findPlaces } from "../../control/places.ts";
import { MandateError, NoKeptWork } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { readSession } from "../../sessions/read-session.ts";
import { rootOf } from "../../sessions/session.ts";
import { describedDelegation } from "../cli/commands/show.ts";
import { describeDelegation } from "../cli/describe-delegation.ts";
import type { Io } from "../cli/io.ts";
import { RunView } from "../cli/run-view.ts";
import { styleFor } from "../cli/style.ts";
import type { Detail, DetailPage } from "./chat-state.ts";
import { roomIn } from "./draw/draw-entry.ts";
import { entriesOfSession } from "./entry.ts";

/** The longest diff here; `mandate diff` shows the rest. */
const maximumBytes = 200_000;

/**
 * A delegation for a person to look into, on a screen of so many columns: summary with its contract,
 * transcript, changes. The id of a run stands for its root.
 */
export async function readDetail(
  store: Store,
  { columns, id: wanted }: { readonly columns: number; readonly id: string },
  io: Io,
): Promise<Detail> {
  const runId = await store.findRun(wanted);
  const view = runId === undefined ? undefined : await RunView.read(store, runId);
  const delegation = view?.state.delegations.get(wanted) ?? (view && rootOf(view.state));
  if (view === undefined || delegation === undefined) {
    throw new MandateError("unknown-delegation", `There is no delegation ${wanted}.`);
  }
  const { id } = delegation;
  const { about } = await describedDelegation(store, view, delegation, io);
  // Colours are for the screen, which draws the text.
  const plain = styleFor({ ...io.stdout, isTerminal: false }, io);
  const summary = describeDelegation({ ...about, columns: roomIn(columns) }, plain, io.program);
  const session = await readSession(store, id);
  const changes = await changesOf(store, id, io);
  const pages: readonly DetailPage[] = [
    { title: "summary", entries: [{ kind: "page", text: summary }] },
    { title: "transcript", entries: entriesOfSession(session, io.program) },
    ...(changes === null ? [] : [changes]),
  ];
  return { id, label: labelOf(delegation), pages };
}

async function changesOf(store: Store, id: string, io: Io): Promise<DetailPage | null> {
  const { home } = findPlaces(io.environment);
  try {
    const diff = await new KeptWork({ store, home }).diff(id, { maximumBytes });
    const notes = [...diff.problems, ...(diff.truncated ? [`Cut: ${io.program} diff ${id}`] : [])];
    const entries = notes.map((text) => ({ kind: "note", tone: "warn", text }) as const);
    return { title: "changes", entries: [...entries, { kind: "patch", text: diff.text }] };
  } catch (error) {
    if (error instanceof NoKeptWork) return null;
    throw error;
  }
}
