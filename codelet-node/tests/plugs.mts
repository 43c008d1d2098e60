/** The plugs, where the types of their hosts want them. */

import type { ExtensionFactory } from "@earendil-works/pi-coding-agent";
import { tool as opencodeTool, type Plugin } from "@opencode-ai/plugin";
import { generateText, jsonSchema, tool, ToolLoopAgent, type LanguageModel, type PrepareStepFunction, type ToolSet } from "ai";
import { fitSteps } from "codelet/ai";
import { fitSessions } from "codelet/opencode";
import { contextEngine } from "codelet/openclaw";
import { extension } from "codelet/pi";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

declare const model: LanguageModel;
const steps = fitSteps({ window: 200_000 });
const prepareStep: PrepareStepFunction<ToolSet> = steps.prepareStep;
const recall = tool({ ...steps.recall, inputSchema: jsonSchema<{ handle: string }>(steps.recall.inputSchema) });
await generateText({ model, prompt: "hello", tools: { recall }, prepareStep: steps.prepareStep });
const agent = new ToolLoopAgent({ model, tools: { recall }, prepareStep: steps.prepareStep });

const opencode: Plugin = fitSessions({ window: 200_000 }, { tool: opencodeTool });

const pi: ExtensionFactory = extension({ window: 200_000 });

const openclaw = definePluginEntry({
  id: "codelet",
  name: "Codelet",
  description: "Keeps conversations small.",
  register: contextEngine(),
});

export { agent, openclaw, opencode, pi, prepareStep };
