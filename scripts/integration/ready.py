"""Waits until a Tinker server has made and unloaded a model: python ready.py URL BASE_MODEL SECONDS PROCESS."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

url, base_model, seconds, process = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
end = time.monotonic() + seconds
headers = {"Content-Type": "application/json", "X-API-Key": os.environ.get("TINKER_API_KEY", "tml-test")}


def post(path, body):
    request = urllib.request.Request(f"{url}/api/v1/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=max(1, end - time.monotonic())) as answer:
        return json.load(answer)


def future(path, body):
    handle = post(path, body)
    while True:
        result = post("retrieve_future", {"request_id": handle["request_id"]})
        if result.get("type") != "try_again":
            return result
        if time.monotonic() > end:
            raise TimeoutError(path)


def make():
    session = post("create_session", {"tags": [], "user_metadata": {}, "sdk_version": "0.25.0"})["session_id"]
    body = {"session_id": session, "model_seq_id": 0, "base_model": base_model, "user_metadata": {}}
    model = future("create_model", {**body, "lora_config": {"rank": 8, "seed": 0}})
    if "model_id" not in model:
        raise RuntimeError(f"create_model answered {model}")
    try:
        future("unload_model", {"model_id": model["model_id"]})
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise


reason = "no answer"
while time.monotonic() < end:
    try:
        make()
        sys.exit(0)
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code} {error.read(400)!r}")
    except (OSError, TimeoutError) as error:
        reason = error
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            sys.exit("the server ended")
        time.sleep(0.5)
sys.exit(f"not ready after {seconds:.0f} s: {reason}")
