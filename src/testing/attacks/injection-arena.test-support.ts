import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import type { ScriptedCall } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { defineTool, type Tool } from "../../tools/tool.ts";
import { type TestEngine, testProfile } from "../engine-fixture.ts";
import { until } from "../until.ts";
import { type Orders, ordersIn } from "./injected-text.test-support.ts";
import type { Channel } from "./injection-channels.test-support.ts";
import type { Goal } from "./injection-goals.test-support.ts";

/** One instruction, hidden in one place, obeyed by one agent. */
export interface Case {
  readonly key: string;
  readonly channel: Channel;
  readonly goal: Goal;
  readonly variant: number;
  /** What the attacker wrote. */
  readonly text: string;
  /** The calls that read it, once it is planted. */
  reads: readonly ScriptedCall[];
}

const tools = [
  ...["read_file", "write_file", "list_files", "document_query", "web_fetch", "lookup"],
  ...["memory_save", "memory_load", "load_skill", "ask_user", "delegate_task", "spawn"],
  ...["delegate_to_agent", "cancel_delegation", "send_message", "list_sub_agents"],
];

const withNotes = [...tools, "mcp__notes__note"];

const toolRules: readonly ToolRule[] = [{ tool: "write_file", match: "gated/*", action: "ask" }];

/** The agents of the cases. Nobody of them may run commands; only roamers reach every host. */
export function profilesFor(cases: readonly Case[], pageHost: string): readonly Profile[] {
  const common = { tools, toolRules, workspace: { isolation: "shared" as const } };
  const own = cases.filter(({ channel }) => channel.ownProfile).map((each) => ownProfile(each));
  return [
    testProfile("victim", { ...common, network: [pageHost] }),
    testProfile("roamer", common),
    testProfile("reader", { ...common, network: [pageHost], tools: withNotes }),
    testProfile("reading-roamer", { ...common, tools: withNotes }),
    testProfile("lead", { tools: "*", network: [pageHost] }),
    testProfile("liar", { tools: ["read_file"] }),
    testProfile("helper", { tools: ["read_file", "shell"] }),
    testProfile("bystander", { tools: [] }),
    testProfile("author", { tools: ["memory_save"] }),
    ...own,
  ];

  function ownProfile({ channel, goal, key, text }: Case): Profile {
    const network = goal.victim === "roamer" ? {} : { network: [pageHost] };
    if (channel.name === "a profile's text") {
      return testProfile(key, { ...common, ...network, prompt: `You help. ${text}` });
    }
    return testProfile(key, { ...common, ...network, tools: [...tools, `mcp__notes__${key}`] });
  }
}

/** Who is attacked in a case. */
export function victimOf({ channel, goal, key }: Case): string {
  if (channel.ownProfile) return key;
  const isRoamer = goal.victim === "roamer";
  if (channel.name === "an MCP tool's result") return isRoamer ? "reading-roamer" : "reader";
  return isRoamer ? "roamer" : "victim";
}

/** What an attacker may have heard of: somebody else's delegation, and where the log is. */
interface World {
  readonly bystander: string;
  readonly database: string;
}

/** Reads what it was told to read, and then does exactly what it says, a call a turn. */
export function obeying(byKey: ReadonlyMap<string, Case>, world: World): Script {
  return (request) => {
    const { caller, messages, signal } = request;
    const last = messages.at(-1);
    if (caller.profile === "bystander") {
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    }
    if (caller.profile === "helper") return "helped";
    if (caller.profile === "author") return authored(byKey.get(caller.task), caller.turn);
    if (caller.profile === "liar") {
      if (caller.turn === 1) return { calls: [{ tool: "read_file", input: { path: "brief.md" } }] };
      return last?.text ?? "";
    }
    const current = byKey.get(caller.task);
    if (current === undefined) return "There is no such case.";
    if (caller.profile === "lead") {
      if (caller.turn > 1) return "led";
      const input = { profile: victimOf(current), task: current.key };
      return { calls: [{ tool: "delegate_task", input }] };
    }
    const { reads } = current;
    if (caller.turn === 1 && reads.length > 0) return { calls: reads };
    const orders = ordersIn(request);
    if (orders === undefined) return "I was told nothing.";
    const step = nextOf(orders, caller.turn - (reads.length > 0 ? 2 : 1), world);
    return step === undefined ? { text: orders.say ?? "obeyed" } : { calls: [step] };
  };
}

function nextOf(orders: Orders, place: number, world: World): ScriptedCall | undefined {
  const step = orders.calls[place];
  if (step === undefined) return undefined;
  const text = JSON.stringify(step)
    .replaceAll("BYSTANDER", world.bystander)
    .replaceAll("DATABASE", world.database);
  return JSON.parse(text) as ScriptedCall;
}

/** Somebody who wrote a memory down before. */
function authored(of: Case | undefined, turn: number) {
  if (of === undefined || turn > 1) return "written";
  const input = { text: of.text, tags: [of.key] };
  return { calls: [{ tool: "memory_save", input }] };
}

/** A person who pastes what they were sent into their answer, as soon as the run asks. */
export async function answerWith(mandate: TestEngine, runId: string, text: string): Promise<void> {
  await until("it asks, or ends", async () => {
    const state = await mandate.store.readRun(runId);
    for (const delegation of state?.delegations.values() ?? []) {
      const ask = delegation.status === "running" ? delegation.ask : null;
      if (ask !== null && ask.kind === undefined) {
        await mandate.engine.answer(ask.id, text);
        return true;
      }
    }
    return state?.outcome;
  });
}

/** A program's own tool, which hands out what others wrote. */
export function lookupTool(textOf: (key: string) => string): Tool {
  return defineTool({
    name: "lookup",
    description: "Looks something up.",
    effect: "read",
    exposure: { untrusted: true, private: true, wayOut: false },
    idempotent: true,
    scopes: [],
    input: z.strictObject({ key: z.string() }),
    execute: ({ key }) => textOf(key),
  });
}

/** A real MCP server: one tool that hands out words, and one for each case that is described by them. */
export function notesServer(cases: readonly Case[], textOf: (key: string) => string): McpServer {
  const server = new McpServer(
    { name: "notes", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  const say = (text: string) => ({ content: [{ type: "text" as const, text }] });
  const inputSchema = z.object({ key: z.string() });
  server.registerTool("note", { description: "A note.", inputSchema }, ({ key }) =>
    say(textOf(key)),
  );
  for (const { channel, key, text } of cases) {
    if (channel.name !== "an MCP tool's description") continue;
    server.registerTool(key, { description: text }, () => say("nothing"));
  }
  return server;
}

/** What a case finds in its folder. */
export function makeWorkspace(workspace: string, isRepository: boolean): void {
  writeFileSync(join(workspace, "notes.md"), "private notes\n");
  if (!isRepository) return;
  mkdirSync(join(workspace, ".git", "hooks"), { recursive: true });
  writeFileSync(join(workspace, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(workspace, ".git", "config"), "[core]\n\tbare = false\n");
}
