import type { LiveDelegation } from "../live-delegation.ts";
import { WorkingTime } from "../working-time.ts";
import type { Course } from "./course.ts";

/** Nobody waits for slots or for time to pass in a replay: an agent goes on when it went on. */
export function keepPace(agent: LiveDelegation, course: Course): void {
  const { time } = agent.process;
  time.takeSlot = () => {
    // There is always one.
    WorkingTime.prototype.takeSlot.call(time);
    return course.pace(agent.id);
  };
  time.untilReleased = async () => {
    await WorkingTime.prototype.untilReleased.call(time);
    await course.pace(agent.id);
  };
  // Before it ends it waits for what it left running: there it waits until it ended.
  agent.process.holdsProcesses = true;
  agent.work.sleep = async () => {
    await agent.work.interruptible(course.pace(agent.id) ?? Promise.resolve());
  };
}
