import type { ModelUsage } from "../../ports/model.ts";
import {
  bytesOf,
  checkFields,
  countOf,
  eventOf,
  type Fields,
  type Json,
  limitIn,
  modelIn,
  notGranted,
  Objection,
  objectIn,
  objectsIn,
  only,
  partOf,
  requireNetwork,
  textIn,
  type WireAnswer,
  type WireGrants,
  type WireProtocol,
  type WireRefusal,
  type WireStream,
  without,
} from "./wire-protocol.ts";

/** More than any image of this protocol is billed as. */
const imageTokens = 5000;

/** Gemini: generateContent, streamGenerateContent and countTokens. */
export const geminiWire: WireProtocol = {
  name: "gemini",
  provider: "google",
  kinds: ["google"],
  read(sent, { action, isStreaming = false, model }, grants) {
    const found = new Findings(grants);
    const given = named(sent);
    // A request to count may contain the whole request.
    const { generateContentRequest: inner, ...outer } = given;
    const body =
      action === "count" && inner !== undefined
        ? without(named(objectIn(inner, "generateContentRequest")), "model")
        : outer;
    checkFields(body, found.fields);
    const configuration = named(objectIn(body["generationConfig"] ?? {}, "generationConfig"));
    const asked = without(body, "generationConfig", "model");
    return {
      model: modelIn(model),
      isStreaming,
      maxOutput: limitIn(configuration["maxOutputTokens"], "generationConfig.maxOutputTokens"),
      addedTokens: found.addedTokens,
      mustBeCounted: found.mustBeCounted,
      writesLongCache: false,
      hidesOutput: (name) =>
        !/^gemini-(?:1|2\.0)/.test(name) &&
        named(partOf(configuration["thinkingConfig"]))["thinkingBudget"] !== 0,
      body: ({ maxOutput }) => ({
        ...asked,
        generationConfig: {
          ...configuration,
          ...thinkingWithin(configuration["thinkingConfig"], maxOutput),
          maxOutputTokens: maxOutput,
        },
      }),
      countBody: (name) => ({
        generateContentRequest: {
          ...asked,
          model: `models/${name}`,
          generationConfig: configuration,
        },
      }),
    };
  },
  path({ action }, model, isStreaming) {
    const verb = isStreaming ? "streamGenerateContent?alt=sse" : "generateContent";
    return `/models/${encodeURIComponent(model)}:${action === "count" ? "countTokens" : verb}`;
  },
  headers: ({ apiKey }) => (apiKey === undefined ? {} : { "x-goog-api-key": apiKey }),
  answerIn: (body) => {
    const stream = new GeminiStream();
    stream.see(body);
    return stream.answer;
  },
  stream: () => new GeminiStream(),
  countIn: (body) => body["totalTokens"],
  refusal: errorBody,
  refusalEvent: (refusal) => eventOf(errorBody(refusal)),
  models: (names) => ({
    models: names.map((id) => ({
      name: `models/${id}`,
      displayName: id,
      supportedGenerationMethods: ["generateContent", "countTokens"],
    })),
  }),
};

function errorBody({ isBudget, message, status: code }: WireRefusal): Json {
  const statuses: Readonly<Record<number, string>> = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
  };
  const status = isBudget ? "FAILED_PRECONDITION" : (statuses[code] ?? "INVALID_ARGUMENT");
  return { error: { code, message, status } };
}

/** The provider takes both spellings of every field; two spellings of one field have no one meaning. */
function named(object: Json): Json {
  const fields = new Map<string, unknown>();
  for (const [key, value] of Object.entries(object)) {
    const name = key.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
    if (fields.has(name)) throw new Objection(`${name} is given twice.`);
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

class Findings {
  addedTokens = 0;
  mustBeCounted = false;
  readonly fields: Fields;
  readonly #grants: WireGrants;

  constructor(grants: WireGrants) {
    this.#grants = grants;
    const content = (value: unknown, where: string): void => this.#content(value, where);
    this.fields = {
      ...{ toolConfig: true, safetySettings: true },
      contents: (value, where) => {
        const contents = Array.isArray(value) ? value : [value];
        for (const [index, one] of contents.entries()) content(one, `${where}[${index}]`);
      },
      systemInstruction: content,
      generationConfig: (value, where) =>
        checkFields(named(objectIn(value, where)), configurations, where),
      tools: (value, where) => {
        for (const [index, tool] of objectsIn(value, where).entries()) {
          this.#tool(named(tool), `${where}[${index}]`);
        }
      },
      store: only(false),
      serviceTier: only("standard", "SERVICE_TIER_STANDARD", "unspecified"),
    };
  }

  #content(value: unknown, where: string): void {
    if (typeof value === "string") return;
    const { parts, role: _role, ...others } = named(objectIn(value, where));
    checkFields(others, {}, where);
    const list = Array.isArray(parts) ? parts : parts === undefined ? [] : [parts];
    for (const [index, part] of list.entries()) {
      if (typeof part !== "string") this.#part(part, `${where}.parts[${index}]`);
    }
  }

  #part(value: unknown, where: string): void {
    const part = named(objectIn(value, where));
    checkFields(
      part,
      {
        ...{ text: true, thought: true, thoughtSignature: true, functionCall: true },
        ...{ executableCode: true, codeExecutionResult: true, videoMetadata: true },
        ...{ mediaResolution: true, partMetadata: true },
        inlineData: (data, name) => {
          const { mimeType } = named(objectIn(data, name));
          if (/^image\//i.test(textIn(mimeType))) this.addedTokens += imageTokens;
          else if (!/^text\//i.test(textIn(mimeType))) this.mustBeCounted = true;
        },
        functionResponse: (response, name) => {
          const { parts } = named(objectIn(response, name));
          for (const [index, one] of objectsIn(parts, `${name}.parts`).entries()) {
            this.#part(one, `${name}.parts[${index}]`);
          }
        },
      },
      where,
    );
  }

  #tool(tool: Json, where: string): void {
    const search = (_value: unknown, name: string): void => {
      requireNetwork(name, this.#grants);
      this.mustBeCounted = true;
    };
    const fields = {
      functionDeclarations: true,
      googleSearch: search,
      urlContext: search,
    } as const;
    checkFields(tool, fields, where);
  }
}

const configurations: Fields = {
  ...{ maxOutputTokens: true, temperature: true, topP: true, topK: true, stopSequences: true },
  ...{ seed: true, presencePenalty: true, frequencyPenalty: true, responseMimeType: true },
  ...{ responseSchema: true, responseJsonSchema: true, responseFormat: true, logprobs: true },
  ...{ responseLogprobs: true, mediaResolution: true, thinkingConfig: true },
  candidateCount: only(1),
  responseModalities: (value, where) => {
    if (!/^\["(?:text|TEXT)"\]$/.test(JSON.stringify(value))) throw notGranted(where);
  },
};

function thinkingWithin(value: unknown, maxOutput: number): Json {
  if (typeof value !== "object" || value === null) return {};
  const thinking = named(partOf(value));
  const budget = thinking["thinkingBudget"];
  const isLower = typeof budget !== "number" || budget < maxOutput;
  return {
    thinkingConfig: { ...thinking, ...(!isLower && { thinkingBudget: Math.floor(maxOutput / 2) }) },
  };
}

/** Every event has the counts so far: the last ones count. */
class GeminiStream implements WireStream {
  received = 0;
  isComplete = false;
  #served: string | null = null;
  #usage: ModelUsage | null = null;
  #finish = "";
  #text = "";

  see(event: Json): boolean {
    if (typeof event["modelVersion"] === "string") this.#served = event["modelVersion"];
    for (const candidate of objectsIn(event["candidates"], "candidates")) {
      for (const part of objectsIn(partOf(candidate["content"])["parts"], "parts")) {
        const call = part["functionCall"];
        this.received += bytesOf(part["text"], part["thoughtSignature"]);
        if (call !== undefined) this.received += bytesOf(JSON.stringify(call));
        if (part["thought"] !== true) this.#text += textIn(part["text"]);
      }
      this.#finish = textIn(candidate["finishReason"]) || this.#finish;
    }
    if (typeof partOf(event["promptFeedback"])["blockReason"] === "string") {
      this.#finish = "blocked";
    }
    this.#usage = usageIn(partOf(event["usageMetadata"])) ?? this.#usage;
    this.isComplete ||= this.#finish !== "";
    return true;
  }

  get answer(): WireAnswer {
    return { served: this.#served, usage: this.#usage, finish: this.#finish, text: this.#text };
  }
}

function usageIn(usage: Json): ModelUsage | null {
  if (typeof usage["promptTokenCount"] !== "number") return null;
  return {
    prompt: usage["promptTokenCount"] + countOf(usage["toolUsePromptTokenCount"]),
    completion: countOf(usage["candidatesTokenCount"]) + countOf(usage["thoughtsTokenCount"]),
    cached: countOf(usage["cachedContentTokenCount"]),
  };
}
