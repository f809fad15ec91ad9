import type { Contract } from "../contracts/contract.ts";
import type { Store } from "../ports/store.ts";
import { exportSession, type SessionFormat } from "../sessions/export-session.ts";
import { harmlessJson } from "../sessions/harmless-text.ts";
import { publicContract } from "./public-contract.ts";

/** An exported session for a remote reader, without what that reader may not see. */
export async function* publicExport(
  store: Store,
  id: string,
  format: SessionFormat,
  withPrompts: boolean,
): AsyncGenerator<string> {
  for await (const piece of exportSession(store, id, format)) {
    yield format === "jsonl" ? publicLine(piece, withPrompts) : piece;
  }
}

function publicLine(line: string, withPrompts: boolean): string {
  const isConcerned = /^\{"record":"(?:contract|prompt)"/.test(line);
  if (!isConcerned) return line;
  const record = JSON.parse(line) as { readonly record: string; readonly contract?: Contract };
  const told =
    record.contract !== undefined
      ? { ...record, contract: publicContract(record.contract) }
      : withPrompts
        ? record
        : { ...record, text: null };
  return `${harmlessJson(told)}\n`;
}
