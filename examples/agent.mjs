// An agent in plain JavaScript: the task comes on standard input, the answer goes to standard output.
//
//     bench run --command 'node examples/agent.mjs'

import { readFileSync } from "node:fs";

const task = JSON.parse(readFileSync(0, "utf8"));
const tools = task.tools.map(({ name, description, parameters }) => ({
  type: "function",
  function: { name, description, parameters },
}));

async function post(url, body) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}: ${await reply.text()}`);
  return reply.json();
}

async function call({ name, arguments: tool_input }) {
  const tool = task.tools.find((tool) => tool.name === name);
  if (!tool) return `Error: there is no tool ${name}`;
  const request = { ...tool.api, tool_input, strip: "", toolbench_key: "" };
  const { error, response } = await post(process.env.TRIALBED_TOOLS_URL, request);
  if (error) return `Error: ${error}`;
  return typeof response === "string" ? response : JSON.stringify(response);
}

const messages = [
  { role: "system", content: task.instructions },
  { role: "user", content: task.query },
];
for (;;) {
  const request = { model: process.env.OPENAI_MODEL, messages, tools };
  const { message } = (await post(`${process.env.OPENAI_BASE_URL}/chat/completions`, request)).choices[0];
  messages.push(message);
  if (!message.tool_calls?.length) {
    console.log(message.content ?? "");
    break;
  }
  const results = await Promise.all(message.tool_calls.map((wanted) => call(wanted.function)));
  message.tool_calls.forEach(({ id }, i) => messages.push({ role: "tool", tool_call_id: id, content: results[i] }));
}
