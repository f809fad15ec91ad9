import type { ModelRequests } from "../../delegations/agent-programs.ts";
import type { Engine } from "../../delegations/engine.ts";
import type { Session } from "../../delegations/session.ts";
import type { WireProtocol } from "../../models/gateway/wire-protocol.ts";
import {
  answerProgram,
  type ProgramAnswer,
  type ProgramCall,
  refusalOf,
} from "./answer-program.ts";
import { type ConfiguredModels, GatewayModels, modelIdOf } from "./gateway-models.ts";
import { Upstream } from "./send-upstream.ts";

export interface GatewayOptions {
  /** The name of the program, as it is shown. */
  readonly client: string;
  readonly task?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `provider/model`; empty: every model of known price of every provider that has a key. */
  readonly models: readonly string[];
  readonly network?: boolean | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxCost?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * Opens a run whose root is a program that makes its own requests to models.
 *
 * @example
 * const gateway = await openGateway(runtime, { client: "claude", environment, models: [], maxCost: 5 });
 */
export async function openGateway(
  runtime: ConfiguredModels & { readonly engine: Pick<Engine, "openSession"> },
  options: GatewayOptions,
): Promise<SessionGateway> {
  const { client, environment, maxCost, maxTokens, network = false, task, timeoutMs } = options;
  const named = options.models;
  const models = new GatewayModels(runtime, { environment, named, maxCost });
  const session = await runtime.engine.openSession({
    client,
    task,
    budgetTokens: maxTokens,
    requests: { models: models.names, network, maxTokens, maxCost, timeoutMs },
  });
  return new SessionGateway(session, models);
}

/** The requests to models that one program makes under one contract. */
export class Gateway {
  readonly requests: ModelRequests;
  readonly #models: GatewayModels;
  readonly #upstream = new Upstream();

  constructor(requests: ModelRequests, models: GatewayModels) {
    this.requests = requests;
    this.#models = models;
  }

  answer(call: ProgramCall): Promise<ProgramAnswer> {
    const { requests } = this;
    return answerProgram({ requests, models: this.#models, upstream: this.#upstream }, call);
  }

  /** The granted models, as the provider would list its own. */
  list(protocol: WireProtocol): ProgramAnswer {
    const names = this.#models.grantedFor(protocol, this.requests.contract);
    const body = Buffer.from(JSON.stringify(protocol.models(names.map(modelIdOf))));
    return { status: 200, headers: { "content-type": "application/json" }, body };
  }

  /** Files, batches, stored answers and the like: they spend or leak in ways that nothing here can hold. */
  async refuseEndpoint(protocol: WireProtocol, what: string): Promise<ProgramAnswer> {
    const cause = { code: "request_not_granted", field: what, needs: "nothing" } as const;
    await this.requests.refuse(cause, undefined);
    const message = `Mandate does not pass on ${what}: only requests to models are.`;
    return refusalOf(protocol, { status: 404, message, isBudget: false });
  }

  close(): void {
    this.#upstream.close();
  }
}

/** The gateway of a program that is the root of a run. */
export class SessionGateway extends Gateway {
  readonly session: Session;

  constructor(session: Session, models: GatewayModels) {
    super(session.requests, models);
    this.session = session;
  }
}
