"""The control socket without a client: one connection for many questions, which is quicker than a client each time."""
import json
import socket


class Control:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(str(path))
        self.file = self.sock.makefile("rw", encoding="utf-8")

    def ask(self, command, *args, errors_too=False):
        self.file.write(json.dumps({"command": command, "args": args}) + "\n")
        self.file.flush()
        rows = []
        while True:
            answer = json.loads(self.file.readline())
            if "progress" in answer:
                continue
            if "row" not in answer:
                assert "done" in answer or errors_too, answer
                return rows
            rows.append(answer["row"])

    def peer(self, name):
        return self.ask("show-peers", name)[0]

    def path(self, prefix):
        """The path to exactly this prefix; None: there is none."""
        return next((row for row in self.ask("show-routes", prefix) if row["prefix"] == prefix), None)

    def close(self):
        self.file.close()
        self.sock.close()
