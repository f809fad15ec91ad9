import { Agent } from "../../delegations/agent.ts";
import { Account } from "../../delegations/ledger.ts";
import type { Course } from "./course.ts";

/** Nobody waits for slots or for time to pass in a replay: an agent goes on when it went on. */
export function keepPace(agent: Agent, course: Course): void {
  agent.takeSlot = () => {
    // There is always one.
    Agent.prototype.takeSlot.call(agent);
    return course.pace(agent.id);
  };
  const { account } = agent;
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
