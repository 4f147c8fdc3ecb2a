#!/usr/bin/env bash
# Records the comparison of docs/results/small-local-model, or goes on with it, in the folder that is named: the same
# command asks the model for nothing that it has answered. It takes hours; Ctrl-C at any time. It needs the extra
# `local` and the packages with the weights, which `bench run` names. Then publish it:
#
#     cd FOLDER && bench publish latest --dataset harbour.py --about .../about.txt -o .../docs/results/small-local-model
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cp "$here/../../docs/results/small-local-model/datasets/harbour.py" "$1"
cd "$1"
shift
exec bench run --dataset harbour.py --model local:qwen2.5-coder-1.5b \
    -f reference -f langgraph -f crewai -f autogen -f openai-agents -f agno --profile native --profile controlled \
    --temperature 0.3 --max-tokens 256 --max-steps 8 --repeat 2 --timeout 7200 --margin 0.1 \
    --model-cache answers.db --yes "$@"
