#!/usr/bin/env python3
"""Serves a GGUF model on loopback with llama.cpp's own HTTP server (`/v1/chat/completions`).

usage: serve.py MODEL.gguf [PORT]

Port 0 takes a free one. Prints `listening http://127.0.0.1:PORT` once it answers, and ends when its standard input is
closed, so that a test that is killed does not leave it behind.
"""

import socket
import sys

import xllamacpp

# Tokens of prompt and reply together. SmolLM2 was trained with 8192; half of that is quick on a CPU.
CONTEXT_TOKENS = 4096
# One thread: several wait for each other in a loop, and on a machine that is busy with other tests none gets ahead.
THREADS = 1


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    # Named addresses only: the default would listen on every interface.
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(sys.argv[2] if len(sys.argv) == 3 else 0) or free_port()
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    server = xllamacpp.Server(parameters)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
