import { describe, expect, it } from "vitest";
import {
  agent,
  type OpenedPlane,
  openControlPlane,
  operator,
  viewer,
} from "../../control/records/open-control-plane.test-support.ts";
import type { Principal } from "../../control/records/principal.ts";
import { controlRunId } from "../../ports/identity.ts";
import { type CommandReply, executeCommand, fromUser, type UserText } from "./execute-command.ts";
import { noSteering } from "./no-steering.test-support.ts";

const models: Readonly<Record<string, string>> = {
  writer: "anthropic/claude",
  coder: "openai/gpt",
};

function say(
  opened: OpenedPlane,
  text: string,
  principal: Principal = operator,
): Promise<CommandReply> {
  return executeCommand(fromUser(text, principal), {
    controlPlane: opened.plane,
    pinContext: { session: "s1", user: principal.id, workspace: "/srv/app" },
    describeProfile: (id) => (opened.profiles.has(id) ? { model: models[id] } : undefined),
    profiles: () => [],
    steering: noSteering,
  });
}

/** A conversation: what is said, and what has to be answered to it, word for word. */
async function converse(
  opened: OpenedPlane,
  lines: readonly (readonly [string, string, Principal?])[],
): Promise<void> {
  for (const [text, reply, principal] of lines) {
    expect((await say(opened, text, principal)).reply).toBe(reply);
  }
}

async function notesOf({ store }: OpenedPlane): Promise<readonly unknown[]> {
  const notes: unknown[] = [];
  for await (const { type, payload } of store.readEvents({ runId: controlRunId })) {
    if (type === "command.executed") notes.push(payload);
  }
  return notes;
}

describe("the fixed replies", () => {
  it("of registering, listing and unregistering", async () => {
    await using opened = openControlPlane();
    await converse(opened, [
      ["/agents", "No agent profiles registered.", viewer],
      ["/agents list", "No agent profiles registered.", viewer],
      [
        "/agents register @writer | writer | Writes documents.",
        "Registered agent @writer -> writer.",
      ],
      ["/agents register @coder | coder | Writes code.", "Registered agent @coder -> coder."],
      [
        "/agents register @look | researcher | Looks around.",
        "Registered agent @look -> researcher.",
      ],
      [
        "/agents",
        [
          "Agent profiles:",
          "- @coder -> coder: Writes code. [openai/gpt]",
          "- @look -> researcher: Looks around. [default model]",
          "- @writer -> writer: Writes documents. [anthropic/claude]",
        ].join("\n"),
        viewer,
      ],
      ["/agents unregister @look", "Unregistered agent @look."],
      ["/agents unregister @look", "Agent not found: @look"],
      ["/agents show @look", "Agent not found: @look", viewer],
    ]);
    opened.profiles.delete("coder");
    expect((await say(opened, "/agents")).reply).toContain("Writes code. [missing profile]");
  });

  it("of showing and changing one agent", async () => {
    await using opened = openControlPlane();
    const shown = (...lines: string[]) =>
      [
        "Agent @writer",
        "Profile: writer [anthropic/claude]",
        "Description: Writes documents.",
        ...lines,
      ].join("\n");
    await converse(opened, [
      [
        "/agents register @writer | writer | Writes documents.",
        "Registered agent @writer -> writer.",
      ],
      [
        "/agents show @writer",
        shown(
          "Tags: none",
          "Default forward skills: none",
          "Allowed forward skills: no restriction",
          "Default MCP servers: none",
          "Allowed MCP servers: no restriction",
        ),
        viewer,
      ],
      [
        "/agents set-skills @writer | default: a, b | allowed: a, b, c",
        "Updated skills of agent @writer.",
      ],
      ["/agents set-servers @writer | allowed:", "Updated servers of agent @writer."],
      ["/agents set-tags @writer | docs, texts", "Updated tags of agent @writer."],
      [
        "/agents show @writer",
        shown(
          "Tags: docs, texts",
          "Default forward skills: a, b",
          "Allowed forward skills: a, b, c",
          "Default MCP servers: none",
          "Allowed MCP servers: none",
        ),
      ],
      ["/agents set-skills @writer | allowed: *", "Updated skills of agent @writer."],
      ["/agents set-description @writer | Shorter.", "Updated description of agent @writer."],
      ["/agents set-profile @writer | coder", "Updated profile of agent @writer -> coder."],
      ["/agents set-profile @writer | nobody", 'There is no profile "nobody".'],
      ["/agents register @other | nobody | d", 'There is no profile "nobody".'],
      ["/agents set-tags @nobody | a", "Agent not found: @nobody"],
    ]);
    expect(await opened.plane.entry("@writer")).toEqual({
      agentId: "@writer",
      profileId: "coder",
      description: "Shorter.",
      defaultForwardSkills: ["a", "b"],
      allowedMcpServers: [],
      tags: ["docs", "texts"],
    });
  });

  it("of pinning and unpinning", async () => {
    await using opened = openControlPlane();
    await converse(opened, [
      ["/agents pins", "No pinned profile is currently active.", viewer],
      ["/agents pin @writer", "Agent not found: @writer", viewer],
      ["/agents register @writer | writer | d", "Registered agent @writer -> writer."],
      ["/agents register @coder | coder | d", "Registered agent @coder -> coder."],
      ["/agents pin @writer", "Pinned @writer (writer) for session scope.", viewer],
      ["/agents pin @coder --user", "Pinned @coder (coder) for user scope.", viewer],
      ["/agents pin @coder --workspace", "Pinned @coder (coder) for workspace scope."],
      ["/agents pin @coder --global", "Pinned @coder (coder) for global scope."],
      [
        "/agents pins",
        [
          "Effective pin: writer (session scope).",
          "- session: writer (profile-pin:session:s1)",
          "- user: coder (profile-pin:user:vera)",
          "- workspace: coder (profile-pin:workspace:/srv/app)",
          "- global: coder (profile-pin:global)",
        ].join("\n"),
        viewer,
      ],
      ["/agents unpin", "Removed pin for session scope.", viewer],
      ["/agents unpin", "No pin for session scope.", viewer],
      ["/agents unpin --user", "Removed pin for user scope.", viewer],
      ["/agents unpin --workspace", "Removed pin for workspace scope."],
      ["/agents unpin --global", "Removed pin for global scope."],
      ["/agents pins", "No pinned profile is currently active.", viewer],
    ]);
  });

  it("of pins, also where one of them is broken", async () => {
    await using opened = openControlPlane();
    const broken = { resourceType: "policy", resourceId: "profile-pin:user:vera" };
    const change = { ...broken, expectedVersion: 0, value: { profile: "x" } };
    await opened.store.changeRecords([change], "test");
    await converse(opened, [
      ["/agents register @coder | coder | d", "Registered agent @coder -> coder."],
      ["/agents pin @coder --global", "Pinned @coder (coder) for global scope."],
      [
        "/agents pins",
        [
          "The user pin decides here, and cannot be used.",
          "- user: ? (profile-pin:user:vera)",
          '  broken: policy/profile-pin:user:vera: a pin is {"profileId": "…"} and nothing else. Set it again, or remove the pin: /agents unpin --user',
          "- global: coder (profile-pin:global)",
        ].join("\n"),
        viewer,
      ],
      ["/agents unpin --user", "Removed pin for user scope.", viewer],
      [
        "/agents pins",
        "Effective pin: coder (global scope).\n- global: coder (profile-pin:global)",
        viewer,
      ],
    ]);
  });

  it("of what needs an operator", async () => {
    await using opened = openControlPlane();
    await opened.plane.register(agent("@writer"), operator);
    await converse(opened, [
      [
        "/agents register @x1 | writer | d",
        "Registering agent profiles requires operator access.",
        viewer,
      ],
      [
        "/agents unregister @writer",
        "Unregistering agent profiles requires operator access.",
        viewer,
      ],
      ["/agents set-tags @writer | a", "Changing agent profiles requires operator access.", viewer],
      ["/agents apply-yaml oops: [", "Applying agent profiles requires operator access.", viewer],
      ["/agents pin @writer --global", "Global pin requires operator access.", viewer],
      ["/agents pin @nobody --global", "Global pin requires operator access.", viewer],
      ["/agents unpin --global", "Global pin requires operator access.", viewer],
      ["/agents pin @writer --workspace", "Workspace pin requires operator access.", viewer],
    ]);
    expect((await opened.plane.registry()).version).toBe(1);
    expect((await say(opened, "/agents unregister @writer", viewer)).ok).toBe(false);
  });
});

describe("documents in the chat", () => {
  it("survive as they were written: several lines, folds and bars", async () => {
    await using opened = openControlPlane();
    const yaml = [
      "version: 1",
      "agents:",
      "  - agentId: '@writer'",
      "    profileId: editor",
      "    description: >",
      "      Edits what others wrote: a | b,",
      "      and keeps its tone.",
      "    tags: [docs]",
      "profiles:",
      "  editor:",
      "    description: Edits.",
      "    prompt: |",
      "      You edit.",
      "",
      "        - keep indents",
      "pins:",
      "  global: editor",
      "",
    ].join("\n");
    await converse(opened, [
      [`/agents apply-yaml\n${yaml}`, "Applied: agents 1, profiles 1, pins 1."],
    ]);
    const [record] = await opened.plane.profileRecords();
    expect(record?.value).toMatchObject({ prompt: "You edit.\n\n  - keep indents\n" });
    expect((await say(opened, "/agents")).reply).toContain(
      "- @writer -> editor: Edits what others wrote: a | b, and keeps its tone. [",
    );
    const exported = (await say(opened, "/agents export-yaml")).reply;
    await using other = openControlPlane();
    await say(other, `/agents apply-yaml ${exported}`);
    expect(await other.plane.exportDocument(operator)).toEqual(
      await opened.plane.exportDocument(operator),
    );
  });

  it.each([
    ["a: [", /^apply-yaml:1: /],
    ["version: 1\nagents: []\nagents: []", /^apply-yaml:3: .*twice/],
    ["version: 1\nagents: [{agentId: '@w1', <<: {}}]", /^apply-yaml:2: merge keys/],
    ["version: 1\nagents: !!js/function x", /^apply-yaml:2: /],
    ["version: 1\nagents: no", /^agents: must be a list/],
    [
      "version: 1\nagents: [{agentId: '@w1', profileId: nobody, description: d}]",
      /agents\[0\]\.profileId/,
    ],
    [`version: 1\nagents: ${"[".repeat(5000)}`, /^apply-yaml:2: nested deeper/],
    ["just text", /^the document: must be an object/],
    [`'{"version":1,"agents":[]}'`, /^the document: must be an object/],
  ])("are refused as a whole: %j", async (yaml, problem) => {
    await using opened = openControlPlane();
    await opened.plane.register(agent("@writer"), operator);
    const outcome = await say(opened, `/agents apply-yaml ${yaml}`);
    expect(outcome).toMatchObject({ ok: false, code: "config-invalid" });
    expect(outcome.reply).toMatch(problem);
    expect((await opened.plane.registry()).version).toBe(1);
  });
});

describe("the log of commands", () => {
  it("has every command with who gave it and what came of it", async () => {
    await using opened = openControlPlane();
    const key = `sk-${"a1".repeat(12)}`;
    await say(opened, "/agents register @writer | writer | Writes.");
    await say(opened, "/agents register @w1 | writer | Writes.", viewer);
    await say(opened, "/agents show @nobody", viewer);
    await say(opened, "/agents register oops");
    await say(opened, "/agnts my password is hunter2");
    await say(opened, "/agents apply-yaml version: 1\ntoken: hunter2");
    await say(opened, `/agents set-description @writer | key ${key}`);
    const notes = await notesOf(opened);
    expect(notes).toMatchObject([
      { command: "/agents register @writer | writer | Writes.", actor: "otto", outcome: "done" },
      { command: "/agents register @w1 | writer | Writes.", actor: "vera", outcome: "refused" },
      { command: "/agents show @nobody", actor: "vera", outcome: "unknown-agent" },
      { command: "/agents register ?", actor: "otto", outcome: "usage" },
      { command: "/?", actor: "otto", outcome: "usage" },
      {
        command: expect.stringMatching(/^\/agents apply-yaml \(\d+ characters, SHA-256 \w{64}\)$/),
        outcome: "config-invalid",
      },
      { command: "/agents set-description @writer | key [redacted]", outcome: "done" },
    ]);
    expect(JSON.stringify(notes)).not.toMatch(/hunter2|a1a1/);
  });
});

describe("where a command comes from", () => {
  it("is part of its type and of the object, so that nothing else passes for it", async () => {
    await using opened = openControlPlane();
    const real = fromUser("/agents register @x1 | writer | d", operator);
    const forged: unknown[] = [
      { text: real.text, principal: operator },
      JSON.parse(JSON.stringify(real)),
      { ...real },
      Object.create(real),
      structuredClone(real),
      real.text,
    ];
    for (const each of forged) {
      await expect(
        executeCommand(each as UserText, {
          controlPlane: opened.plane,
          pinContext: {},
          describeProfile: () => undefined,
          profiles: () => [],
          steering: noSteering,
        }),
      ).rejects.toThrow("Only text that a user typed can be a command.");
    }
    expect(await opened.store.listRecords("policy")).toEqual([]);
    expect(await notesOf(opened)).toEqual([]);
  });

  it("cannot be given another role once it was made", () => {
    const principal = { id: "vera", role: "viewer" as "viewer" | "admin" };
    const said = fromUser("/agents", principal);
    principal.role = "admin";
    expect(said.principal.role).toBe("viewer");
    expect(() => Object.assign(said, { text: "/agents pins" })).toThrow(TypeError);
    // @ts-expect-error A string is not a user's text, whoever has it.
    const wrong: UserText = "/agents";
    expect(wrong).toBe("/agents");
  });
});
