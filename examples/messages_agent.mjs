// An agent in plain JavaScript that asks its model in Anthropic's Messages.
//
//     bench run --command 'node examples/messages_agent.mjs'

import { readFileSync } from "node:fs";

const task = JSON.parse(readFileSync(0, "utf8"));
const tools = task.tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));

async function post(url, body) {
  const headers = {
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
    "x-api-key": process.env.ANTHROPIC_API_KEY,
  };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}: ${await reply.text()}`);
  return reply.json();
}

async function call({ id, name, input }) {
  const result = { type: "tool_result", tool_use_id: id };
  const tool = task.tools.find((tool) => tool.name === name);
  if (!tool) return { ...result, content: `there is no tool ${name}`, is_error: true };
  const request = { ...tool.api, tool_input: input, strip: "", toolbench_key: "" };
  const { error, response } = await post(process.env.TRIALBED_TOOLS_URL, request);
  if (error) return { ...result, content: error, is_error: true };
  return { ...result, content: typeof response === "string" ? response : JSON.stringify(response) };
}

const messages = [{ role: "user", content: task.query }];
const url = `${process.env.ANTHROPIC_BASE_URL}/v1/messages`;
for (;;) {
  const request = { model: process.env.OPENAI_MODEL, max_tokens: 4096, system: task.instructions, messages, tools };
  const { content, stop_reason } = await post(url, request);
  messages.push({ role: "assistant", content });
  if (stop_reason !== "tool_use") {
    console.log(content.map(({ text }) => text ?? "").join(""));
    break;
  }
  const uses = content.filter(({ type }) => type === "tool_use");
  messages.push({ role: "user", content: await Promise.all(uses.map(call)) });
}
