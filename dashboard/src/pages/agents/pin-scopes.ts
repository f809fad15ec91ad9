import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import type { Me } from "../../data/use-me.ts";

export type PinRow = Operations["listPins"]["reply"]["items"][number];
export type PinScope = PinRow["scope"];

/** A scope that the signed-in person may pin a profile for. */
export interface PinPlace {
  readonly scope: PinScope;
  readonly id: string | null;
  readonly label: string;
}

/**
 * As the server allows it: each person for themselves; operators also for the folders that it serves,
 * for all users, and for named sessions of their own.
 */
export function placesFor(me: Me | undefined): readonly PinPlace[] {
  if (me === undefined) return [];
  const own: PinPlace = { scope: "user", id: me.id, label: "For yourself" };
  if (me.role === "viewer") return [own];
  return [
    own,
    ...me.workspaces.map((id): PinPlace => ({ scope: "workspace", id, label: `In ${id}` })),
    { scope: "global", id: null, label: "For all users" },
    { scope: "session", id: null, label: "In a session of yours…" },
  ];
}

/** The scope of a session by its typed name; undefined while the name is not valid. */
export function sessionPlace(me: Me, name: string): PinPlace | undefined {
  const said = name.trim();
  if (!/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u.test(said)) return undefined;
  return { scope: "session", id: `${me.id}/${said}`, label: said };
}

/** Admins may remove all of them; others those that they could have set. */
export function mayRemove(pin: PinRow, me: Me | undefined): boolean {
  if (me === undefined) return false;
  if (me.role === "admin") return true;
  if (me.role !== "viewer" && pin.scope === "session")
    return pin.id?.startsWith(`${me.id}/`) === true;
  return placesFor(me).some(({ id, scope }) => scope === pin.scope && id === pin.id);
}

export function keyOfPlace({ id, scope }: Pick<PinPlace, "id" | "scope">): string {
  return id === null ? scope : `${scope}:${id}`;
}
