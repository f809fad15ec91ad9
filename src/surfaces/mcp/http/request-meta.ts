import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type RequestId,
} from "@modelcontextprotocol/server";
import { tasksExtension } from "../tasks/task.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a message of 2026-07-28 says about its client, read before anything was checked. */
export function clientInfoOf(message: unknown): unknown {
  return metaOf(message)[CLIENT_INFO_META_KEY];
}

export function knowsTasks(message: unknown): boolean {
  const { extensions } = fieldsOf(metaOf(message)[CLIENT_CAPABILITIES_META_KEY]);
  return Object.hasOwn(fieldsOf(extensions), tasksExtension);
}

/** The tasks whose changes a client wants to hear of; undefined where it asks for none. */
export function listensToTasks(
  message: unknown,
): { readonly id: RequestId; readonly taskIds: readonly string[] } | undefined {
  const { method, id, params } = fieldsOf(message);
  if (method !== "subscriptions/listen") return undefined;
  const { taskIds } = fieldsOf(fieldsOf(params)["notifications"]);
  if (!Array.isArray(taskIds) || (typeof id !== "string" && typeof id !== "number"))
    return undefined;
  return { id, taskIds: taskIds.filter((one) => typeof one === "string") };
}

function metaOf(message: unknown): Fields {
  return fieldsOf(fieldsOf(fieldsOf(message)["params"])["_meta"]);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
