import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";

type Limits = Operations["listQueues"]["reply"]["items"][number]["limits"];

/** `200 of all, 10 of a worker, at each depth`; what is not limited is not mentioned. */
export function tellLimits({ all, tenant, worker }: Limits): string {
  const parts = [
    ...(all === null ? [] : [`${all} of all`]),
    ...(worker === null ? [] : [`${worker} of a worker`]),
    ...(tenant === null ? [] : [`${tenant} of a tenant`]),
  ];
  return parts.length === 0 ? "no limit" : `${parts.join(", ")}, at each depth`;
}
