import { pruneHome } from "../../../application/retention.ts";
import { loadConfig } from "../../../control/load-config.ts";
import { findPlaces } from "../../../control/places.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { PruneReport } from "../../../ports/store.ts";
import { headOf } from "../../../text.ts";
import { countOf } from "../amounts.ts";
import { type Arguments, type Command, flag, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printJson } from "../printable.ts";
import { withStore } from "../with-store.ts";

const hourMs = 60 * 60 * 1000;
const unitMs: Readonly<Record<string, number>> = { h: hourMs, d: 24 * hourMs, w: 168 * hourMs };

export const pruneCommand: Command = {
  name: "prune",
  usage: "--older-than TIME [options]",
  about:
    "Removes runs that ended longer ago than TIME: their events, contracts, questions, inbox items,\n" +
    "and the texts and artifacts that nothing else refers to. A receipt of each stays in the control\n" +
    "log, so that `mandate verify` can tell a pruned run from a deleted one. Memories and costs stay.\n" +
    "Open runs, runs that an open run continues, and runs with changes that were not merged are kept.\n" +
    "Without --older-than, `retention.days` of the configuration applies.",
  options: {
    "older-than": text("TIME", "such as 90d, 12w or 36h"),
    "keep-failed": flag("only runs that succeeded"),
    "dry-run": flag("say what would be removed, and remove nothing"),
    json: jsonOption,
  },
  examples: ["prune --older-than 90d --dry-run", "prune --older-than 12w --keep-failed"],
  run: prune,
};

async function prune(given: Arguments, io: Io): Promise<number> {
  const { own } = await loadConfig({ cwd: io.cwd, environment: io.environment });
  const { retention } = own;
  const ageMs = ageOf(given.text("older-than"), retention.days);
  const dryRun = given.flag("dry-run");
  const { home } = findPlaces(io.environment);
  const report = await withStore(io, (store) =>
    pruneHome(
      { store, home },
      {
        finishedBefore: io.now() - ageMs,
        actor: "local",
        most: Number.MAX_SAFE_INTEGER,
        keepFailed: given.flag("keep-failed") || retention.keepFailed,
        dryRun,
      },
    ),
  );
  if (given.flag("json")) printJson(io, { dryRun, ...report });
  else for (const line of describe(report, dryRun, io)) io.stdout.write(`${line}\n`);
  return report.damaged.length === 0 ? exitCode.done : exitCode.failed;
}

function ageOf(text: string | undefined, days: number | undefined): number {
  if (text === undefined && days !== undefined) return days * 24 * hourMs;
  const [, number = "", unit = ""] = /^(\d{1,6})([hdw])$/.exec(text ?? "") ?? [];
  const ms = Number(number) * (unitMs[unit] ?? 0);
  if (text !== undefined && number !== "" && ms > 0) return ms;
  throw new MandateError(
    "usage",
    text === undefined
      ? "Say how old a run must be: --older-than 90d, or `retention.days` in the configuration."
      : `--older-than takes a time such as 90d, 12w or 36h; it is "${headOf(text, 40)}".`,
  );
}

function describe(report: PruneReport, dryRun: boolean, io: Io): readonly string[] {
  const { artifacts, damaged, kept, runs } = report;
  const events = runs.reduce((sum, run) => sum + run.events, 0);
  const about = `${countOf(runs.length, "run")} with ${countOf(events, "event")}`;
  const lines = [
    dryRun ? `Would prune ${about}.` : `Pruned ${about}, and ${countOf(artifacts, "artifact")}.`,
  ];
  if (kept.length > 0) {
    lines.push(
      `${countOf(kept.length, "run")} of that age kept: an open run continues them, or they left changes (${io.program} diff ${kept[0]}).`,
    );
  }
  if (damaged.length > 0) {
    lines.push(
      `Not pruned, because their logs are damaged (${io.program} verify): ${damaged.join(", ")}`,
    );
  }
  return lines;
}
