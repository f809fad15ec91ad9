import type { QueuedWork } from "./dbos-dispatcher.ts";

/**
 * The same for the same delegation: to send it twice is to send it once. `again`: what it is called
 * this time, since what was called so before has ended.
 */
export function workflowIdOf({ delegationId, sentOn, tenant }: QueuedWork, again = ""): string {
  const name = `${tenant}/${delegationId}`;
  return sentOn === 0 && again === "" ? name : `${name}/${again}${sentOn}`;
}

/** What finds a tenant's work: the engine takes it as a pattern, where `_` would be any letter. */
export function prefixOf(tenant: string): string {
  return `${tenant.replaceAll(/[\\%_]/g, "\\$&")}/`;
}

export function isOfTenant(tenant: string, workflowId: string): boolean {
  return workflowId.startsWith(`${tenant}/`);
}
