import type { PlanFile } from "../../../commands/read-plan-file.ts";
import { countOf } from "../amounts.ts";
import type { Arguments } from "../arguments.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { styleFor } from "../style.ts";

/** What a plan would do, and in which order; nothing is started. */
export function printSchedule({ plan, waits, waves }: PlanFile, given: Arguments, io: Io): number {
  const idOf = (place: number): string => plan.steps[place]?.id ?? "";
  const stepsOf = (wave: readonly number[]) =>
    wave.flatMap((place) => {
      const step = plan.steps[place];
      if (step === undefined) return [];
      const { dependsOn, id, owns, profile, reviewer, title } = step;
      return { id, title, profile, depends_on: dependsOn.map(idOf), owns, reviewer };
    });
  if (given.flag("json")) {
    const { approval, goal } = plan;
    const schedule = {
      goal,
      approval,
      waves: waves.map(stepsOf),
      waits: waits.map(({ behind, place }) => ({ step: idOf(place), for: idOf(behind) })),
    };
    io.stdout.write(`${printableJson(schedule, 2)}\n`);
    return exitCode.done;
  }
  const { paint } = styleFor(io.stdout, io);
  if (plan.goal !== null) io.stdout.write(`${printableLine(plan.goal)}\n`);
  for (const [index, wave] of waves.entries()) {
    io.stdout.write(`${paint.strong(`${index + 1}.`)}\n`);
    for (const { depends_on, id, owns, profile, reviewer, title } of stepsOf(wave)) {
      const notes = [
        ...(depends_on.length > 0 ? [`after ${depends_on.join(", ")}`] : []),
        ...(owns.length > 0 ? [`owns ${owns.join(", ")}`] : []),
        ...(reviewer === null ? [] : [`reviewed by ${reviewer}`]),
      ];
      const line = [`${id}: ${title} [${profile}]`, ...notes].join("; ");
      io.stdout.write(`  ${printableLine(line)}\n`);
    }
  }
  for (const { behind, place } of waits) {
    io.stderr.write(
      `${idOf(place)} waits for ${idOf(behind)}: both could change the same paths. Say in owns what each changes, if they are to run side by side.\n`,
    );
  }
  const steps = countOf(plan.steps.length, "step");
  const approval = plan.approval ? "; a person is asked before it begins" : "";
  io.stderr.write(
    `${steps} in ${countOf(waves.length, "wave")}${approval}. Nothing was started.\n`,
  );
  return exitCode.done;
}
