import type { Principal } from "../../../control/records/principal.ts";
import type { InputRequests, Task } from "./task.ts";

/**
 * Tasks that outlive the process: the id of one leads to what the call delegated, and how that
 * stands is read from the log. Somebody else's is undefined, exactly like one that never was.
 */
export interface DurableTasks {
  idOf(tool: string, delegationId: string): string;
  read(owner: Principal, taskId: string): Promise<Task | undefined>;
  /** What agents wait to have answered by a person: the delegation's own, and those below it. */
  questions(owner: Principal, taskId: string): Promise<InputRequests>;
  /** Without effect for what is no open question of that task. */
  answer(owner: Principal, taskId: string, key: string, response: unknown): Promise<void>;
  cancel(owner: Principal, taskId: string): Promise<void>;
}
