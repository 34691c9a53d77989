#!/bin/sh
#SBATCH --job-name=waza
#SBATCH --array=1-3
#SBATCH --cpus-per-task=2
#SBATCH --time=02:00:00
# Three shards of a run as an array of Slurm, and the whole that waza makes of them:
#   id=$(sbatch --parsable slurm-shards.sh evals/greeter/eval.yaml "$PWD/results")
#   sbatch --dependency="afterany:$id" --wrap "waza merge '$PWD/results' --output results.json"
# Each shard runs in a copy of the current directory on the disk of its node, since journals need locks.
set -eu
suite=$1
results=$2
local=$(mktemp -d)
trap 'rm -rf "$local"' EXIT
cp -R "${SLURM_SUBMIT_DIR:-.}/." "$local"
rm -rf "$local/.waza"
cd "$local"

code=0
waza run --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" -- "$suite" || code=$?
mkdir -p "$results/shard-$SLURM_ARRAY_TASK_ID"
cp -R .waza/runs "$results/shard-$SLURM_ARRAY_TASK_ID/"
exit "$code"
