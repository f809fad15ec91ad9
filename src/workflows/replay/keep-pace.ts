import type { Agent } from "../../delegations/agent.ts";
import { Account } from "../../delegations/turns/ledger.ts";
import { WorkingTime } from "../../delegations/working-time.ts";
import type { Course } from "./course.ts";

/** Nobody waits for slots or for time to pass in a replay: an agent goes on when it went on. */
export function keepPace(agent: Agent, course: Course): void {
  const { account, time } = agent;
  time.takeSlot = () => {
    // There is always one.
    WorkingTime.prototype.takeSlot.call(time);
    return course.pace(agent.id);
  };
  account.released = async () => {
    await Account.prototype.released.call(account);
    await course.pace(agent.id);
  };
  // Before it ends it waits for what it left running: there it waits until it ended.
  agent.holdsProcesses = true;
  agent.sleep = async () => {
    await agent.interruptible(course.pace(agent.id) ?? Promise.resolve());
  };
}
