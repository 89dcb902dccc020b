"""The local site: access control and replies.

It listens on this machine only, and answers requests with the secret from the address that the
terminal shows, which other users of the machine do not know. Other sites in the same browser can
still send requests here, so requests that name another host (DNS rebinding) or come from another
origin are refused. Result pages run in a sandbox, since others may have written them, and links out
of their folder are not followed.
"""

import hmac
import json
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs

from unmask.errors import UnmaskError
from unmask.reports.results import RESULTS
from unmask.reports.templating import rendered
from unmask.support.printable import visible

HOST = "127.0.0.1"
LARGEST = 20_000  # bytes of a request
LARGEST_FILE = 50_000_000  # bytes of results.json that a list is made from
PAGE = "report.html"
HTML = "text/html; charset=utf-8"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
OWN = "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{}'; connect-src 'self'"
SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:"
)


class PairScorer(Protocol):
    """An object that scores a pair, such as the one in `serve/pair.py`."""

    name: str

    def score(self, pair: Mapping[str, Any]) -> dict[str, Any]:
        """Scores and shaded tokens of two sentences."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, a content with its type, and headers beside the usual ones."""

    status: int
    content: bytes
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


def _refused(status: int, text: str) -> Reply:
    return Reply(status, json.dumps({"error": text}).encode())


class Site:
    """The page, its pairs and its results; one pair is scored at a time."""

    def __init__(self, scorer: PairScorer, folders: Sequence[Path] = ()) -> None:
        self.scorer, self.folders = scorer, [f for f in folders if (f / RESULTS).is_file()]
        self.secret, self.origins = secrets.token_urlsafe(24), set[str]()
        self._one = threading.Lock()

    def listen(self, port: int) -> None:
        """Set the host names under which this site is known, for a port."""
        self.origins = {f"http://{name}:{port}" for name in (HOST, "localhost")}

    def allowed(self, headers: Mapping[str, str]) -> bool:
        """Whether a request names this host, and comes from our page or from a typed address."""
        origin = headers.get("Origin")
        own_origin = f"http://{headers.get('Host', '')}" in self.origins
        cross = headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")
        return own_origin and not cross and (origin is None or origin in self.origins)

    def knows(self, key: str) -> bool:
        """Whether a key is the secret that the terminal shows."""
        return hmac.compare_digest(key.encode("utf-8", "replace"), self.secret.encode())

    def get(self, path: str, key: str, headers: Mapping[str, str]) -> Reply:
        """Return the site's page, or a result page by its number."""
        if not self.allowed(headers) or not self.knows(key):
            return _refused(403, "open the address that the terminal shows.")
        if path == "/":
            return self._page()
        number = path.removeprefix("/results/")
        short = path != number and number.isdecimal() and len(number) < 7
        if short and int(number) < len(self.folders):
            page = self.folders[int(number)] / PAGE
            in_folder = page.resolve().parent == self.folders[int(number)].resolve()
            if page.is_file() and in_folder and page.stat().st_size <= LARGEST_FILE:
                policy = (("Content-Security-Policy", SANDBOX),)
                return Reply(200, page.read_bytes(), HTML, policy)
        return _refused(404, "there is no such page.")

    def may_post(self, headers: Mapping[str, str]) -> bool:
        """Whether a request comes from our own page; checked before its body is read."""
        return self.allowed(headers) and self.knows(headers.get("X-Unmask", ""))

    def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Score a pair of sentences, given as JSON."""
        if path != "/pair":
            return _refused(404, "there is no such page.")
        if headers.get("Content-Type", "").partition(";")[0] != "application/json":
            return _refused(415, "give JSON.")
        try:
            content = json.loads(body)
            if not isinstance(content, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError):
            return _refused(400, "the request is not JSON with two sentences.")
        return self._scored(content)

    def _scored(self, content: Mapping[str, Any]) -> Reply:
        try:
            with self._one:
                answer = self.scorer.score(content)
        except UnmaskError as error:
            return _refused(400, str(error))
        except Exception as error:  # a user's model may fail in any way
            return _refused(500, f"the model failed ({type(error).__name__}: {error!s:.200}).")
        return Reply(200, json.dumps(answer, allow_nan=False).encode())

    def _page(self) -> Reply:
        nonce = secrets.token_urlsafe(16)
        runs = [_listed(n, f) for n, f in enumerate(self.folders)]
        text = rendered(
            "serve.html.jinja",
            secret=self.secret,
            nonce=nonce,
            model=visible(self.scorer.name),
            runs=runs,
        )
        return Reply(200, text.encode(), HTML, (("Content-Security-Policy", OWN.format(nonce)),))


KEYS = ("answer", "made")  # of results.json


def _listed(number: int, folder: Path) -> dict[str, Any]:
    """A folder of results: its name, when it was made, and its answers in sentences."""
    path = folder / RESULTS
    content: Any = {}
    try:
        if path.stat().st_size <= LARGEST_FILE:
            content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = {}
    content = content if isinstance(content, dict) else {}
    answer, origin = (c if isinstance(c := content.get(k), dict) else {} for k in KEYS)
    sentences = answer.get("sentences")
    named = sentences.items() if isinstance(sentences, dict) else ()
    return {
        "number": number,
        "name": visible(str(folder)),
        "date": visible(str(origin.get("date", "")))[:10],
        "answers": [(visible(str(m)), visible(str(s))) for m, s in named],
        "page": (folder / PAGE).is_file(),
    }


def server(site: Site, port: int) -> ThreadingHTTPServer:
    """A server of the site on this machine; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        """Hands requests to the site; nothing is logged."""

        server_version, sys_version = "unmask", ""
        timeout = 30  # seconds for a request to arrive

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            key = parse_qs(query).get("key", [""])[0]
            self._reply(site.get(path, key, self._named()))

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not site.may_post(self._named()):
                self.close_connection = True
                self._reply(_refused(403, "open the address that the terminal shows."))
                return
            if not length.isdecimal() or len(length) > 6 or int(length) > LARGEST:
                self.close_connection = True
                self._reply(_refused(413, f"a request needs a length of at most {LARGEST} bytes."))
                return
            body = self.rfile.read(int(length))
            self._reply(site.post(self.path.partition("?")[0], self._named(), body))

        def _named(self) -> dict[str, str]:
            """Return the headers; letter case of their names does not matter."""
            return {name.title(): value for name, value in self.headers.items()}

        def _reply(self, reply: Reply) -> None:
            self.send_response(reply.status)
            headers = {**HEADERS, "Content-Type": reply.kind, **dict(reply.headers)}
            for name, value in {**headers, "Content-Length": str(len(reply.content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.content)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing: the command prints what is needed."""

    class Server(ThreadingHTTPServer):
        """A server that ignores clients that disconnect."""

        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Print nothing: a client that disconnects is no error."""

    listening = Server((HOST, port), Handler)
    site.listen(listening.server_address[1])
    return listening
