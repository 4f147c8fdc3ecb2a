#!/usr/bin/env bash
# An agent of bash, curl and jq: the task comes on standard input, the answer goes to standard output.
#
#     bench run --command examples/agent.sh

set -euo pipefail

task=$(cat)
tools=$(jq '[.tools[] | {type: "function", function: {name, description, parameters}}]' <<<"$task")
messages=$(jq '[{role: "system", content: .instructions}, {role: "user", content: .query}]' <<<"$task")

post() {
  curl --silent --show-error --fail-with-body --data @- "$1" \
    --header "Content-Type: application/json" --header "Authorization: Bearer $OPENAI_API_KEY"
}

ask_model() {
  jq -n --arg model "$OPENAI_MODEL" --argjson messages "$messages" --argjson tools "$tools" \
    '{$model, $messages, $tools}' | post "$OPENAI_BASE_URL/chat/completions" | jq '.choices[0].message'
}

call_tool() {
  jq --argjson call "$1" '
    (.tools[] | select(.name == $call.function.name) | .api)
    + {tool_input: $call.function.arguments, strip: "", toolbench_key: ""}' <<<"$task" |
    post "$TRIALBED_TOOLS_URL" |
    jq -r 'if .error != "" then "Error: \(.error)" else .response | if type == "string" then . else tojson end end'
}

while true; do
  message=$(ask_model)
  messages=$(jq --argjson message "$message" '. + [$message]' <<<"$messages")
  calls=$(jq -c '.tool_calls // [] | .[]' <<<"$message")
  if [ -z "$calls" ]; then
    jq -r '.content' <<<"$message"
    exit
  fi
  while read -r call; do
    messages=$(jq --argjson call "$call" --arg content "$(call_tool "$call")" \
      '. + [{role: "tool", tool_call_id: $call.id, $content}]' <<<"$messages")
  done <<<"$calls"
done
