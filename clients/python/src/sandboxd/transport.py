"""HTTP/1.1 with JSON over a Unix socket."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
import struct
import sys
from typing import Any, Dict, Iterable, Iterator, Optional, Union
from urllib.parse import quote, urlencode

from .errors import Lost, NoDaemon, SandboxdError, error_of

Body = Union[bytes, Iterable[bytes]]

# An answer, or one event, is no longer than this.
_MAX = 64 << 20


def socket_dir() -> str:
    """The directory of the daemon's sockets: $SBX_SOCKET_DIR, else the system's
    where it serves this user, else the user's own (as `sbx` looks for it)."""
    named = os.environ.get("SBX_SOCKET_DIR", "")
    if named:
        return os.path.abspath(named)
    uid = os.geteuid()
    if uid != 0 and os.access("/run/sandboxd/agent.sock", os.W_OK):
        return "/run/sandboxd"
    for runtime in (os.environ.get("XDG_RUNTIME_DIR", ""), "/run/user/%d" % uid):
        if os.path.isabs(runtime) and _private(runtime, uid):
            return os.path.join(runtime, "sandboxd")
    return "/run/sandboxd" if uid == 0 else "/tmp/sandboxd-%d" % uid


def _private(path: str, uid: int) -> bool:
    try:
        st = os.stat(path)
    except OSError:
        return False
    return stat.S_ISDIR(st.st_mode) and st.st_uid == uid and st.st_mode & 0o077 == 0


def _listener(s: socket.socket) -> Optional[int]:
    """The user that listens at the other end (unix(7), SO_PEERCRED); None where
    this system can't say."""
    if sys.platform.startswith("linux"):
        cred = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", cred)[1])
    return None


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: Optional[float]) -> None:
        super().__init__("sandboxd", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            s.settimeout(self.timeout)
            s.connect(self._path)
            uid = _listener(s)
            if uid not in (None, 0, os.geteuid()):
                raise SandboxdError("foreign", "%s is served by another user (uid %s)" % (self._path, uid))
        except (FileNotFoundError, ConnectionRefusedError):
            s.close()
            raise NoDaemon(self._path) from None
        except BaseException:
            s.close()
            raise
        self.sock = s


class Transport:
    """One socket of the daemon. Each request has a connection of its own, so an
    object of this class may be used by several threads at once."""

    def __init__(self, path: str, secret: str = "", timeout: Optional[float] = None) -> None:
        self.path = path
        self.secret = secret
        self.timeout = timeout

    @staticmethod
    def quote(part: str) -> str:
        """A value as one element of a path."""
        if not part:
            raise SandboxdError("bad_request", "an id is missing")
        return quote(part, safe="")

    def _open(
        self,
        method: str,
        path: str,
        query: Optional[Dict[str, Any]],
        body: Optional[Dict[str, Any]],
        raw: Optional[Body],
        headers: Dict[str, str],
    ) -> "tuple[_Connection, http.client.HTTPResponse]":
        asked = {k: _text(v) for k, v in (query or {}).items() if v is not None}
        if asked:
            path += "?" + urlencode(asked)
        data: Optional[Body] = raw
        if body is not None:
            data = json.dumps({k: v for k, v in body.items() if v is not None}, ensure_ascii=False).encode()
            headers["Content-Type"] = "application/json"
        elif raw is not None:
            headers["Content-Type"] = "application/octet-stream"
        if self.secret:
            headers["Authorization"] = "Bearer " + self.secret
        connection = _Connection(self.path, self.timeout)
        try:
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            if not 200 <= response.status < 300:
                raise error_of(_json(response.read(_MAX)), response.status)
        except (ConnectionError, http.client.HTTPException) as e:
            connection.close()
            raise Lost("%s %s: %s" % (method, path, e)) from e
        except BaseException:
            connection.close()
            raise
        return connection, response

    def ask(
        self,
        method: str,
        path: str,
        query: Optional[Dict[str, Any]] = None,
        body: Optional[Dict[str, Any]] = None,
        raw: Optional[Body] = None,
        key: Optional[str] = None,
    ) -> Any:
        """One request and its answer."""
        headers = {"Idempotency-Key": key} if key else {}
        connection, response = self._open(method, path, query, body, raw, headers)
        try:
            answer = response.read(_MAX)
        except (ConnectionError, http.client.HTTPException) as e:
            raise Lost("%s %s: %s" % (method, path, e)) from e
        finally:
            connection.close()
        return _json(answer)

    def lines(
        self,
        method: str,
        path: str,
        query: Optional[Dict[str, Any]] = None,
        body: Optional[Dict[str, Any]] = None,
        key: Optional[str] = None,
    ) -> Iterator[Any]:
        """A stream of JSON objects, one a line. It is open when this returns."""
        headers = {"Idempotency-Key": key} if key else {}
        connection, response = self._open(method, path, query, body, None, headers)

        def read() -> Iterator[Any]:
            try:
                while True:
                    line = _line(response)
                    if not line:
                        return
                    value = _json(line)
                    if "error" in value and "seq" not in value:
                        raise error_of(value, response.status)
                    yield value
            finally:
                connection.close()

        return read()

    def server_sent(self, method: str, path: str, query: Optional[Dict[str, Any]] = None) -> Iterator[Any]:
        """A stream of Server-Sent Events; their data."""
        connection, response = self._open(method, path, query, None, None, {})

        def read() -> Iterator[Any]:
            event, data = "", b""
            try:
                while True:
                    line = _line(response)
                    if not line:
                        return
                    line = line.rstrip(b"\r\n")
                    if line.startswith(b"event: "):
                        event = line[7:].decode()
                    elif line.startswith(b"data: "):
                        data = line[6:]
                    elif not line and data:
                        value = _json(data)
                        if event == "error":
                            raise error_of(value, response.status)
                        yield value
                        event, data = "", b""
            finally:
                connection.close()

        return read()


def _line(response: http.client.HTTPResponse) -> bytes:
    """One whole line, b"" at the end. A line without an end was cut off."""
    try:
        line = response.readline(_MAX)
    except (ConnectionError, http.client.HTTPException) as e:
        raise Lost(str(e)) from e
    if line and not line.endswith(b"\n"):
        raise Lost("an event was cut off")
    return line


def _text(v: Any) -> str:
    if isinstance(v, bool):
        return "1" if v else "0"
    return str(v)


def _json(b: bytes) -> Any:
    try:
        return json.loads(b)
    except ValueError:
        return {}
