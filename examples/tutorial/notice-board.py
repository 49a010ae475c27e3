"""The notice board of docs/tutorial.md: prints every notice that is posted to it.

It stands for any service that takes JSON by POST. Usage: notice-board.py PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class NoticeBoard(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        print("posted:", json.loads(body)["notice"], flush=True)
        answer = b'{"posted": true}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), NoticeBoard).serve_forever()
