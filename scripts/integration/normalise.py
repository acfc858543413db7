"""
Turns a record of an SDK's requests into a fixture: python normalise.py RECORD.jsonl FIXTURE.json SDK_VERSION SERVER.
Ids, paths and other values of one run become names; protobuf bodies are kept as bytes with their map fields in order of
key, and shown as JSON beside.
"""

import base64
import json
import re
import sys

from google.protobuf.json_format import MessageToDict
from tinker.proto import tinker_public_pb2 as pb

record_path, fixture_path, version, server = sys.argv[1:5]
SKIPPED = re.compile(r"/(telemetry|session_heartbeat|client/dynamic_config|sessions/.*/finish)$")
VARYING = {"x-api-key": "KEY", "x-idempotency-key": "UUID", "x-tinker-create-promise-roundtrip-time": "SECONDS"}
# What the HTTP library and not the protocol says.
PLUMBING = re.compile(r"^(host|connection|content-length|accept-encoding|user-agent|x-stainless-.*|x-sdk-method|traceparent)$")

names = {}
counts = {}


def name(kind, value):
    if isinstance(value, str) and value and value not in names:
        counts[kind] = counts.get(kind, 0) + 1
        names[value] = f"{kind}-{counts[kind]}"


def replace(value):
    if isinstance(value, dict):
        return {key: replace(item) for key, item in value.items()}
    if isinstance(value, list):
        return [replace(item) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def learn(path, answer):
    answer = answer if isinstance(answer, dict) else {}
    for kind in ("session_id", "model_id", "sampling_session_id", "request_id", "path"):
        name(kind.upper(), answer.get(kind))
    if path.endswith("/get_server_capabilities"):
        name("BASE_MODEL", answer["supported_models"][0]["model_name"])


requests = []
polls = set()
for line in open(record_path):
    entry = json.loads(line)
    path, body = entry["path"], base64.b64decode(entry["body"])
    headers = {n.lower(): VARYING.get(n.lower(), v) for n, v in entry["headers"] if not PLUMBING.match(n.lower())}
    learn(path, entry["answer"])
    if SKIPPED.search(path):
        continue
    item = {"method": entry["method"], "path": path, "headers": dict(sorted(headers.items()))}
    if path.endswith("/retrieve_future"):
        # Each kind of future is shown by its first poll: how many polls follow is up to the server.
        kind = (headers.get("x-tinker-request-type"), headers.get("x-tinker-request-iteration"))
        if kind in polls or kind[1] not in (None, "0"):
            continue
        polls.add(kind)
    if headers.get("content-type") == "application/x-protobuf":
        message = pb.ForwardBackwardRequest.FromString(body)
        message.model_id = replace(message.model_id)
        item["protobuf"] = base64.b64encode(message.SerializeToString(deterministic=True)).decode()
        item["shown"] = MessageToDict(message, preserving_proto_field_name=True)
    elif body:
        item["json"] = replace(json.loads(body))
    requests.append(item)

fixture = {"sdk": f"tinker {version}", "server": server, "requests": requests}
text = json.dumps(fixture, indent=1)
for value, named in names.items():
    text = text.replace(json.dumps(value)[1:-1], named) if len(value) > 6 else text
with open(fixture_path, "w") as file:
    file.write(text + "\n")
print(f"{len(requests)} requests in {fixture_path}")
