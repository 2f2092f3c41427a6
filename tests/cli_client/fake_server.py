"""A server on loopback that answers what a test tells it to, and keeps what it was asked."""
import http.server
import json
import threading


class Asked:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body = method, path, headers, body

    def __repr__(self):
        return f"{self.method} {self.path} {self.body}"


class FakeServer:
    """Answers are given per method and path, query included; a list is used up one by one, its last stays."""

    def __init__(self):
        self.asked = []
        self.answers = {}
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size).decode()
                fake.asked.append(Asked(self.command, self.path, self.headers, body))
                answers = fake.answers.get((self.command, self.path))
                if not answers:
                    status, content, headers = 404, error("not_found", "the fake server has no " + self.path), {}
                else:
                    status, content, headers = answers.pop(0) if len(answers) > 1 else answers[0]
                data = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
                if status == 204:
                    data = b""
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if headers.get("Connection") != "close":
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = headers.get("Connection") == "close"

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def on(self, method, path, content, status=200, headers=None):
        self.answers.setdefault((method, path), []).append((status, content, headers or {}))

    def reset(self):
        self.asked, self.answers = [], {}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def error(code, message, **details):
    return {"error": {"code": code, "message": message, "details": details}}
