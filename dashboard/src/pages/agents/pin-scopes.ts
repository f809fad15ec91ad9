import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";
import type { Me } from "../../data/use-me.ts";

export type PinRow = Operations["listPins"]["reply"]["items"][number];
export type PinScope = PinRow["scope"];

/** A place that whoever looks may pin a profile for. */
export interface PinPlace {
  readonly scope: PinScope;
  readonly id: string | null;
  readonly label: string;
}

/** As the server allows it: oneself, the folders that it serves, and everybody; operators only. */
export function placesFor(me: Me | undefined): readonly PinPlace[] {
  if (me === undefined || me.role === "viewer") return [];
  return [
    { scope: "user", id: me.id, label: "For yourself" },
    ...me.workspaces.map((id): PinPlace => ({ scope: "workspace", id, label: `In ${id}` })),
    { scope: "global", id: null, label: "For everybody" },
  ];
}

/** Owners may mend all of them; operators those that they could have set. */
export function mayRemove(pin: PinRow, me: Me | undefined): boolean {
  if (me === undefined || me.role === "viewer") return false;
  if (me.role === "admin") return true;
  if (pin.scope === "session") return pin.id?.startsWith(`${me.id}/`) === true;
  return placesFor(me).some(({ id, scope }) => scope === pin.scope && id === pin.id);
}

export function keyOfPlace({ id, scope }: Pick<PinPlace, "id" | "scope">): string {
  return id === null ? scope : `${scope}:${id}`;
}
