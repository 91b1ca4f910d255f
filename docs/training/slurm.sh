#!/bin/bash
# sbatch slurm.sh, in a folder that all nodes see, with train.csv in it: one worker a node, with all its GPUs.
#SBATCH --job-name=finetune
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
##SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --output=finetune-%j.log
#SBATCH --open-mode=append
# SIGTERM to the workers, two minutes before the time is over: they save the run and exit with 0.
#SBATCH --signal=TERM@120
# After preemption and the failure of a node.
#SBATCH --requeue

out=runs/$SLURM_JOB_ID
done=$out/serving/1/saved_model.pb # what the chief writes last

srun --kill-on-bad-exit=1 --cpus-per-task="$SLURM_CPUS_PER_TASK" \
    python -m zoo finetune --train train.csv --strategy multi_worker --resume "$out/state" \
    --out "$out/model" --export "$out/serving/1"
code=$?

[ "$code" = 0 ] && [ -e "$done" ] && exit
# The same job again, which goes on from the last state; 20 times at most.
[ "${SLURM_RESTART_COUNT:-0}" -lt 20 ] && exec scontrol requeue "$SLURM_JOB_ID"
exit 1
