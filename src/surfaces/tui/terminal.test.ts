import { expect, it } from "vitest";
import { hasTmux, sitDownAtTerminalWith } from "./terminal.test-support.ts";

const sitDown = sitDownAtTerminalWith(`
version: 1
name: terminal
replies:
  - when: { depth: 0, turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: researcher, task: "Count the files" } }]
  - when: { depth: 0 }
    text: "Counted."
  - text: "There are twelve"
`);

it("lets a person delegate in a real terminal, and leave", async ({ skip }) => {
  if (!hasTmux) skip("tmux is not installed");
  const person = sitDown(80, 24);
  person.start();
  await person.see("say something");
  person.say("Please delegate this");
  await person.see(/✓ researcher#\w+ {2}Count the files/);
  await person.see(/● Counted\.[\s\S]*say something/);
  person.press("C-c");
  await person.see("Ctrl+C again leaves");
  person.press("C-c");
  expect(await person.see("left with 0")).toMatch(/Continue the session: .* chat --continue \w+/);
});
