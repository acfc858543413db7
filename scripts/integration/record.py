"""
Stands between a Tinker client and a server and writes down every request as it came:
python record.py SERVER_URL RECORD.jsonl PORT_FILE. One line a request: method, path, headers in order, body in base64,
and the answer's status and JSON (where it is JSON).

A promise to sample is given the sequence ids that later SDKs insist on, where the server sends none.
"""

import base64
import http.client
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

server, record_path, port_file = sys.argv[1:4]
host = urlsplit(server).netloc
lock = threading.Lock()


class Recorder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = [(name, value) for name, value in self.headers.items()]
        upstream = http.client.HTTPConnection(host, timeout=600)
        sent = {n: v for n, v in headers if n.lower() not in ("host", "connection", "accept-encoding", "content-length")}
        upstream.request(self.command, self.path, body or None, sent)
        answer = upstream.getresponse()
        content = answer.read()
        kind = answer.headers.get("Content-Type", "")
        parsed = json.loads(content) if kind.startswith("application/json") and content else None
        if self.path.endswith("/asample") and answer.status < 300 and "sample_sequence_ids" not in parsed:
            count = json.loads(body).get("num_samples", 1)
            parsed["sample_sequence_ids"] = [f"{parsed['request_id']}-{i}" for i in range(count)]
            content = json.dumps(parsed).encode()
        line = {"method": self.command, "path": self.path, "headers": headers, "body": base64.b64encode(body).decode()}
        with lock, open(record_path, "a") as record:
            record.write(json.dumps({**line, "status": answer.status, "answer": parsed}) + "\n")
        self.send_response(answer.status)
        for name in ("Content-Type", "Location", "Expires"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = relay

    def log_message(self, *_):
        pass


listener = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
listener.daemon_threads = True
with open(port_file + ".part", "w") as file:
    file.write(str(listener.server_port))
os.rename(port_file + ".part", port_file)
listener.serve_forever()
