import type { UseQueryResult } from "@tanstack/react-query";
import type { Operations } from "../../../src/surfaces/client/mandate-client.ts";
import { client } from "./client.ts";
import { isRecordChange } from "./is-record-change.ts";
import { useLiveQuery } from "./use-live-query.ts";

export type FolderRow = Operations["listFolders"]["reply"]["items"][number];
export type ConsentMode = Operations["consentToFolder"]["input"]["mode"];

/** The folders of this server, and how this person's agents may work in them. */
export function useFolders(): UseQueryResult<Operations["listFolders"]["reply"]> {
  return useLiveQuery({
    key: ["folders"],
    load: (signal) => client.listFolders({}, { signal }),
    changedBy: isRecordChange,
  });
}

/** From the mode that allows most to the mode that allows least, in the words of the terminal. */
export const modeWords: Readonly<
  Record<ConsentMode, { readonly label: string; readonly detail: string }>
> = {
  "in-place": { label: "In place", detail: "They change your files." },
  copy: {
    label: "In a copy",
    detail: "You review their changes before they reach your files.",
  },
  "read-only": { label: "Read-only", detail: "They change nothing." },
};
