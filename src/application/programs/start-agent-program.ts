import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isMetered } from "../../contracts/agent-runner.ts";
import { modelName } from "../../contracts/contract.ts";
import {
  type AgentProgram,
  ProgramFault,
  type ProgramHost,
} from "../../delegations/agent-programs.ts";
import { fillScratchFolder, removeScratchFolder } from "../../workspaces/sandbox/scratch-folder.ts";
import { Gateway } from "../gateway/gateway.ts";
import { GatewayModels, modelIdOf } from "../gateway/gateway-models.ts";
import { openAcpSession } from "./acp-session.ts";
import { adapterOf } from "./agent-adapters.ts";
import {
  type AgentProgramsOptions,
  commandOf,
  type HeldPrograms,
  kindOf,
} from "./agent-programs.ts";
import { openProgramDoor } from "./program-door.ts";

/** Where the programs of a sandbox reach their door, on a loopback of their own. */
const doorPort = 8787;

/** Starts the program of a delegation. `held` gets what ends it. */
export async function startAgentProgram(
  host: ProgramHost,
  options: AgentProgramsOptions,
  held: HeldPrograms,
): Promise<AgentProgram> {
  const { clock, commands, environment, folder } = options;
  const { contract, delegationId, runner, workspace } = host;
  if (workspace === null) throw new ProgramFault("Its delegation has no workspace.");
  const adapter = adapterOf(runner);
  const command = commandOf(runner, environment);
  if ("problem" in command) throw new ProgramFault(command.problem);
  const scratch = join(folder, delegationId);
  if (host.session === null) await removeScratchFolder(scratch);
  fillScratchFolder(scratch);
  const model = modelName(contract);
  const token = `mandate-program-${randomBytes(32).toString("base64url")}`;
  const gateway = isMetered(runner)
    ? new Gateway(host.requests, grantedModels(host, options))
    : null;
  const url = `http://127.0.0.1:${doorPort}`;
  const begun = adapter.start({
    model: modelIdOf(model),
    kind: kindOf(model, options) ?? "openai-compatible",
    gateway: gateway && { url, token },
  });
  const home = join(scratch, "home");
  for (const [path, text] of Object.entries(begun.files)) write(join(home, path), text);
  if (gateway === null) bringLogin(home, adapter.login?.files ?? [], environment);
  const door = openProgramDoor({ host, gateway, token, version: options.version });
  const network = contract.permissions;
  const contained = await commands
    .prepare()
    .runner.startAgent({
      ...{ delegationId, workspace, scratch, variables: begun.variables },
      argv: [command.program.file, ...command.args, ...begun.args],
      visible: placesOf(command.program.file),
      doors: new Map([[doorPort, door.door]]),
      grants:
        gateway === null
          ? [network.network, adapter.login?.hosts ?? []]
          : [network.network, network.ways_out ?? []],
    })
    .catch((error: unknown) => {
      door.close();
      throw error;
    });
  const end = async (): Promise<void> => {
    held.drop(end);
    contained.program.kill();
    await contained.ended;
    door.close();
  };
  await held.hold(end);
  try {
    return await openAcpSession({
      host,
      program: contained.program,
      name: adapter.title,
      cwd: workspace.root,
      version: options.version,
      tools: { url: `${url}/mcp`, token },
      clock,
    });
  } catch (error) {
    await end();
    throw error;
  }
}

/** The models that the program may be answered by: of its contract, those that have a name. */
function grantedModels({ contract }: ProgramHost, options: AgentProgramsOptions): GatewayModels {
  const { allow, fallbacks = [] } = contract.model;
  const named = [modelName(contract), ...fallbacks, ...(allow === "*" ? [] : allow)];
  const reachable = named.filter(
    (name, index) => index === 0 || kindOf(name, options) !== undefined,
  );
  const { environment } = options;
  return new GatewayModels(options, {
    ...{ environment, named: [...new Set(reachable)] },
    maxCost: undefined,
  });
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o600 });
}

/** A copy: what the program does to its credentials stays in its private home. */
function bringLogin(
  home: string,
  files: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const own = environment["HOME"] ?? "";
  const there = files.filter((file) => existsSync(join(own, file)));
  if (there.length === 0) {
    throw new ProgramFault(
      `You have no login of it: ${files.map((file) => `~/${file}`).join(", ")} is missing. Start the program once and sign in.`,
    );
  }
  for (const file of there) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    cpSync(join(own, file), join(home, file), { dereference: true });
  }
}

/** What must be visible of a program that is installed outside the folders of the system. */
function placesOf(file: string): readonly string[] {
  const modules = file.indexOf("/node_modules/");
  return [modules < 0 ? file : file.slice(0, modules + "/node_modules".length)];
}
