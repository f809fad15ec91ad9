import type { Style } from "../../cli/style.ts";
import type { ChatState } from "../chat-state.ts";
import { drawLedger, drawStatus } from "./draw-ledger.ts";
import { drawPanel } from "./draw-panel.ts";

/** A panel that has the terminal to itself: exactly as many lines as there are. */
export function drawPanelScreen(state: ChatState, style: Style): readonly string[] {
  const rows = Math.max(4, state.rows);
  const ledger = state.agents.length === 0 ? [] : [drawLedger(state, style)];
  const foot = [...ledger, ...drawStatus(state, style)];
  const panel = drawPanel(state, style, rows - foot.length);
  const hint = panel.at(-1) ?? "";
  const list = panel.slice(0, -1);
  const gap = Math.max(0, rows - foot.length - list.length - 1);
  return [...list, ...Array.from({ length: gap }, () => ""), hint, ...foot].slice(0, rows);
}
