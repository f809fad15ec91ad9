import { type Contract, externalProvider } from "../../contracts/contract.ts";
import { unpriced } from "../../contracts/narrow-limits.ts";
import { findShippedModel, shippedModelNames } from "../../control/shipped-models.ts";
import type { ModelSource } from "../../delegations/engine-parts.ts";
import type { Cause } from "../../events/cause.ts";
import { isSameModel } from "../../models/candidate-models.ts";
import type { WireProtocol } from "../../models/gateway/wire-protocol.ts";
import type { ModelsConfig } from "../../models/model-registry.ts";
import { builtInProviders } from "../../models/provider-catalog.ts";
import {
  type Environment,
  type ProviderSettings,
  resolveProvider,
} from "../../models/resolve-provider.ts";
import { MandateError } from "../../ports/mandate-error.ts";

/** The models of a runtime, and where they are configured. */
export interface ConfiguredModels {
  readonly config: { readonly models: ModelsConfig };
  readonly models: ModelSource;
}

/** Where the models of a gateway are, and which of them a program gets. */
export class GatewayModels {
  /** `provider/model` names, the preferred one first. */
  readonly names: readonly string[];
  /** A person named them: any other model is answered by the first that speaks the same protocol. */
  readonly areNamed: boolean;
  readonly #environment: Environment;
  readonly #config: ModelsConfig;
  readonly #settings = new Map<string, ProviderSettings>();

  /** Throws "model-not-configured" where a model cannot be reached, or none can. */
  constructor(
    { config, models }: ConfiguredModels,
    options: {
      readonly environment: Environment;
      readonly named: readonly string[];
      readonly maxCost: number | undefined;
    },
  ) {
    const { environment, maxCost, named } = options;
    this.#environment = environment;
    this.#config = config.models;
    this.areNamed = named.length > 0;
    for (const name of named) {
      // Checks before a program starts whether the model can be reached and is allowed.
      models.resolve(name);
      this.settingsOf(name);
      if (maxCost !== undefined && models.price(name) === undefined) {
        throw new MandateError("refused-by-policy", unpriced(name, maxCost));
      }
    }
    this.names = this.areNamed ? [...new Set(named)] : this.#reachable();
    if (this.names.length > 0) return;
    throw new MandateError(
      "model-not-configured",
      "No provider has a key, so there is no model that a program could use. Set one, such as ANTHROPIC_API_KEY, or name a model with --model.",
    );
  }

  /** The address and the key of a model's provider. */
  settingsOf(model: string): ProviderSettings {
    const provider = model.slice(0, model.indexOf("/"));
    const known = this.#settings.get(provider);
    if (known !== undefined) return known;
    const settings = resolveProvider(provider, this.#environment, this.#config);
    this.#settings.set(provider, settings);
    return settings;
  }

  /** The longest answer of a model; undefined: not known. */
  maxOutput(model: string): number | undefined {
    return findShippedModel(model)?.maxOutput;
  }

  /** The granted models that can be asked in that protocol. */
  grantedFor(protocol: WireProtocol, { model }: Contract): readonly string[] {
    const granted = model.allow === "*" ? this.names : model.allow;
    return granted.filter((name) => {
      if (name.startsWith(`${externalProvider}/`)) return false;
      return protocol.kinds.includes(this.settingsOf(name).kind);
    });
  }

  /** The granted model that answers for the one that the program named. */
  choose(
    protocol: WireProtocol,
    contract: Contract,
    written: string,
  ): { readonly model: string } | { readonly refused: Cause } {
    const granted = this.grantedFor(protocol, contract);
    const own = `${protocol.provider}/${written}`;
    const found =
      granted.find((name) => name === own) ??
      granted.find((name) => name === written || modelIdOf(name) === written) ??
      granted.find((name) => isSameModel(name, written)) ??
      (this.areNamed ? granted[0] : undefined);
    if (found !== undefined) return { model: found };
    return { refused: { code: "model_not_granted", model: written.slice(0, 200), granted } };
  }

  /** Models of known price, of every provider that can be reached, its default first. */
  #reachable(): readonly string[] {
    const { prices = {}, providers = {} } = this.#config;
    const names = new Set([...Object.keys(builtInProviders), ...Object.keys(providers)]);
    return [...names].flatMap((provider) => {
      const builtIn = Object.hasOwn(builtInProviders, provider)
        ? builtInProviders[provider]
        : undefined;
      if (builtIn?.isLocal || !this.#isReachable(provider)) return [];
      const { defaultModel } = builtIn ?? {};
      const shipped = shippedModelNames(provider).map((name) => `${provider}/${name}`);
      const preferred = `${provider}/${defaultModel}`;
      const priced = Object.keys(prices).filter((name) => name.startsWith(`${provider}/`));
      const all = new Set([...shipped.filter((name) => name === preferred), ...shipped, ...priced]);
      return [...all];
    });
  }

  #isReachable(provider: string): boolean {
    try {
      this.settingsOf(`${provider}/`);
      return true;
    } catch {
      return false;
    }
  }
}

/** The name by which a provider knows a model. */
export function modelIdOf(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}
