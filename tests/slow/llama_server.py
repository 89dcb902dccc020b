"""llama-cpp-python's server with its log-probabilities at their places (its issue 1983 mended).

python tests/slow/llama_server.py MODEL.gguf PORT [--as-released]
"""

import sys

import llama_cpp
import numpy as np
import uvicorn
from llama_cpp.server.app import create_app
from llama_cpp.server.settings import ModelSettings, ServerSettings

released = llama_cpp.Llama.logits_to_logprobs


def at_their_places(logits, axis=-1):
    """What was predicted for a token is in the row before it."""
    logits = np.asarray(logits)
    if logits.ndim == 2:
        logits = np.concatenate([logits[:1], logits[:-1]])
    return released(logits, axis)


if __name__ == "__main__":
    path, port = sys.argv[1], int(sys.argv[2])
    if "--as-released" not in sys.argv:
        llama_cpp.Llama.logits_to_logprobs = staticmethod(at_their_places)
    how = ModelSettings(model=path, model_alias="smol", logits_all=True, n_ctx=512, verbose=False)
    where = ServerSettings(host="127.0.0.1", port=port)
    app = create_app(server_settings=where, model_settings=[how])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
