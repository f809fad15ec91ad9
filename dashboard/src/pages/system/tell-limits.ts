import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";

type Limits = Operations["listQueues"]["reply"]["items"][number]["limits"];

/** `200 in all, 10 per worker, at each depth`; what is not limited is not mentioned. */
export function tellLimits({ all, tenant, worker }: Limits): string {
  const parts = [
    ...(all === null ? [] : [`${all} in all`]),
    ...(worker === null ? [] : [`${worker} per worker`]),
    ...(tenant === null ? [] : [`${tenant} per tenant`]),
  ];
  return parts.length === 0 ? "no limit" : `${parts.join(", ")}, at each depth`;
}
