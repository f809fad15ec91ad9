import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/**
 * I9: every takeover raises the run's fence by one, and who resumes presents the fence of now.
 * I18: nobody takes a run over from itself, so recovering a second time writes nothing. One that
 * rests is nobody's: whoever resumes it may be the one who had it.
 */
export function checkOwnership({ report }: CheckedRun): RunCheck {
  let worker: string | undefined;
  let fence = 0;
  let isResting = false;
  return {
    see(event, delegation) {
      switch (event.type) {
        case "run.started":
          worker = event.payload.worker;
          fence = event.payload.fence;
          break;
        case "run.resumed":
          if (event.payload.fence !== fence + 1) {
            const message = `The run is taken over with fence ${event.payload.fence} after ${fence}.`;
            report("I9", message, { seq: event.seq });
          }
          if (event.payload.worker === worker && !isResting) {
            report("I18", "The run is taken over from the worker that has it.", { seq: event.seq });
          }
          worker = event.payload.worker;
          fence = event.payload.fence;
          break;
        case "agent.paused":
          if (isRoot(delegation) && event.payload.reason !== "budget") isResting = true;
          break;
        case "agent.interrupted":
          if (isRoot(delegation)) isResting = false;
          break;
        case "agent.resumed":
          if (isRoot(delegation)) isResting = false;
          if (event.payload.fence !== fence) {
            const message = `It is resumed with fence ${event.payload.fence}; the run has ${fence}.`;
            report("I9", message, {
              ...(delegation && { delegationId: delegation.id }),
              seq: event.seq,
            });
          }
          break;
        default:
      }
    },
  };
}

function isRoot(delegation: Known | undefined): boolean {
  return delegation?.created.parent_id === null && delegation.created.depth === 0;
}
