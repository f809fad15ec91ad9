import { verifyHome } from "../../../commands/verify-home.ts";
import { findPlaces } from "../../../control/places.ts";
import type { PrunedSum, Violation } from "../../../events/checker/check-report.ts";
import { controlRunId } from "../../../ports/identity.ts";
import { countOf } from "../amounts.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import { printableJson, printableLine } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

export const verifyCommand: Command = {
  name: "verify",
  usage: "[options]",
  about:
    "Reads the whole log and checks what must hold: the hash chain, each delegation's life, that no\n" +
    "child held more than its caller could hand on, budgets, merges, the order of closing. Then looks\n" +
    "at what lies and runs beside it: working copies, merges that stopped half-way, processes that\n" +
    "outlived their delegation. Changes nothing, and can run beside work that is going on. Exits 1\n" +
    "when something does not hold.",
  options: {
    json: jsonOption,
    run: { type: "text", value: "ID", help: "only this run" },
  },
  words: { least: 0, most: 0 },
  run: (given, io) =>
    withStore(io, async (store) => {
      const asked = given.text("run");
      const only = asked === undefined ? {} : { runId: (await findTarget(store, asked, io)).runId };
      const report = await verifyHome(store, { places: findPlaces(io.environment), ...only });
      const code = report.ok ? exitCode.done : exitCode.failed;
      if (given.flag("json")) {
        const { ok, events, delegations, pruned, violations } = report;
        const shown = { ok, events, delegations, ...(pruned && { pruned }), violations };
        io.stdout.write(`${printableJson(shown, 2)}\n`);
        return code;
      }
      const { paint, glyphs } = styleFor(io.stdout, io);
      const about = `${countOf(report.events, "event")}, ${countOf(report.delegations, "delegation")}`;
      for (const violation of report.violations) {
        io.stdout.write(`${paint.bad(glyphs.failed)} ${printableLine(describe(violation))}\n`);
      }
      io.stdout.write(
        report.ok
          ? `${paint.good(glyphs.done)} ${about}: everything holds\n`
          : `${paint.bad(countOf(report.violations.length, "violation"))} in ${about}\n`,
      );
      if (report.pruned !== undefined) io.stdout.write(`${describePruned(report.pruned)}\n`);
      return code;
    }),
};

function describePruned({ events, firstAt, lastAt, runs }: PrunedSum): string {
  const [first, last] = [firstAt, lastAt].map((at) => new Date(at).toISOString().slice(0, 10));
  const when = first === last ? `on ${first}` : `from ${first} to ${last}`;
  return `${countOf(runs, "run")} with ${countOf(events, "event")} pruned ${when}; their receipts explain every gap`;
}

/** Which invariant, where, and what is wrong. `seq` counts over all runs, as in `logs --json`. */
function describe({ delegationId, invariant, message, runId, seq }: Violation): string {
  const where = [
    runId === controlRunId ? "control log" : runId,
    delegationId,
    seq === undefined ? undefined : `seq ${seq}`,
  ].filter((part) => part !== undefined);
  return `${invariant}  ${where.length === 0 ? "" : `${where.join(" ")}: `}${message}`;
}
