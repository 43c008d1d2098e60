/** The plugs, where the types of their hosts want them. */

import { generateText, jsonSchema, tool, ToolLoopAgent, type LanguageModel, type PrepareStepFunction, type ToolSet } from "ai";
import { fitSteps } from "codelet/ai";
declare const model: LanguageModel;
const steps = fitSteps({ window: 200_000 });
const prepare: PrepareStepFunction<ToolSet> = steps.prepareStep;
const recall = tool({ ...steps.recall, inputSchema: jsonSchema<{ handle: string }>(steps.recall.inputSchema) });
await generateText({ model, prompt: "hello", tools: { recall }, prepareStep: steps.prepareStep });
const agent = new ToolLoopAgent({ model, tools: { recall }, prepareStep: steps.prepareStep });
export { agent, prepare };
