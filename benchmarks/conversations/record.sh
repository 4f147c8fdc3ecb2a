#!/usr/bin/env bash
# Makes the runs of docs/results/conversations in the folder that is named; it takes about ten minutes. Then publish
# them, the run over ten-turns first, as its tasks are in a file:
#
#     cd FOLDER && bench publish RUN --dataset ten-turns.yaml -o ten
#     bench publish RUNS ten --about .../about.txt -o .../docs/results/conversations
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cp "$here/../../docs/results/conversations/datasets/"* "$1"
cd "$1"
shift
frameworks=(reference langgraph openai-agents crewai autogen agno pydantic-ai smolagents google-adk agent-framework)
options=("${frameworks[@]/#/--framework=}" --profile native --profile controlled --yes "$@")
bench run --dataset ten-turns.yaml --model scripted:gold "${options[@]}"
for model in gold wrong-args bad-json partial extra; do
    bench run --dataset desk --model "scripted:$model" "${options[@]}"
done
