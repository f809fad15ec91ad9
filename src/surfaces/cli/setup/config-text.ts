/** What a person was asked when a project is set up. */
export interface SetupAnswers {
  /** `provider/model`; null: to be decided later. */
  readonly model: string | null;
  /** Whether a person looks at changes before they are merged. */
  readonly approval: boolean;
  /** Tokens for a whole run. */
  readonly runTokens: number;
}

const laterModel = `# Without a model no work can start: set a key in the environment, or name a model here.
# models:
#   default: provider/model`;

/** The file that a project begins with: what was answered, and what else there is, as comments. */
export function configText({ approval, model, runTokens }: SetupAnswers): string {
  return `# Mandate: what agents may do in this project. Every key and its default:
# docs/reference/configuration.md, or \`mandate doctor --schema mandate\` for your editor.
# What stands here narrows what your own file (~/.config/mandate/config.yaml) allows, and never widens it.

${model === null ? laterModel : `models:\n  default: ${scalar(model)}`}
#   pools:                        # several, in the order in which they are tried
#     main: [provider/model, provider/model]
#   defaultPool: main

limits:
  # Tokens for one run, all agents in it together.
  runTokens: ${runTokens}
  # Agents in one run.
  # maxChildren: 200

integration:
  # Children write in copies of this folder. A person is asked before their changes are merged:
  approval: ${approval}
  # Commands that have to succeed on the merged files first, in a sandbox:
  # checks: ["npm test"]

# agents:
#   delegation:
#     maxDepth: 3
#     maxConcurrent: 5
#     defaultTimeout: 300000        # milliseconds for one delegation
#     tokenBudget: { default: 50000, max: 200000 }

# network:
#   allow: [example.com, "*.example.org"]   # hosts that agents may reach; "*" is every public one

# profiles:
#   namer:
#     description: Finds names for things
#     tools: [read_file]
#     prompt: You find names.
`;
}

/** As YAML takes it for a text, whatever stands in it. */
function scalar(text: string): string {
  return /^[\w./:@+-]+$/.test(text) && !/:$/.test(text) ? text : JSON.stringify(text);
}
