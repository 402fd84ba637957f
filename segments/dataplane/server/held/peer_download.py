"""Downloads segment files from other processes of the cluster: peers (servers that hold a copy) and web processes.

The request is signed for the address it goes to, and what comes back ends with a signature, so neither is worth
anything to whoever else may listen there. Nothing is requested but the file of the segment that is to be loaded.
"""

from __future__ import annotations

import hashlib
import http.client
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from segments.dataplane.server.web_processes import WebProcesses
from segments.domain.access.cluster_signature import SEAL_BYTES, SEAL_HEADER
from segments.errors import InvalidInput, NotFound, Unavailable
from segments.gateways.signed_calls import CallSigner
from segments.gateways.tls.trust import Trust
from segments.names import split_table_name

_CHUNK: Final = 1 << 20
#: Seconds of silence after which the other side is given up.
_SILENCE_S: Final = 60.0


class ClusterFiles:
    """Fetches from ``webs`` and from addresses of servers as the cluster's state has them; ``trust``: whom we believe
    that speaks TLS. Safe between threads.
    """

    def __init__(self, webs: WebProcesses, signer: CallSigner, trust: Trust | None = None) -> None:
        self.webs, self._signer, self._trust = webs, signer, trust or Trust()

    def web_addresses(self, table: str, segment: str) -> list[str]:
        """Where the file of this segment (``table`` is typed) may be asked for, in the order of asking.

        Made here from names, so that nobody has a server send requests of their choice in the cluster's name.
        """
        path = f"/segments/{quote(split_table_name(table)[0], safe='')}/{quote(segment, safe='')}"
        return [url + path for url in self.webs.urls()]

    def from_web(self, url: str, target: Path) -> int:
        """Write what this one of ``web_addresses`` sends to ``target``; returns its bytes. NotFound, Unavailable."""
        base = url.rpartition("/segments/")[0]
        try:
            size = self._fetch(url, target)
        except Unavailable:
            self.webs.failed(base)
            raise
        self.webs.answered(base)
        return size

    def from_peer(self, url: str, target: Path) -> int:
        """Write what another server sends to ``target``; returns its bytes. NotFound when it does not hold that
        version, Unavailable.
        """
        return self._fetch(url, target)

    def _fetch(self, url: str, target: Path) -> int:
        """``http.client``, because it hands large chunks through with half the work of a bigger library. It follows no
        redirect.
        """
        parts, call = urlsplit(url), self._signer.sign("GET", url)
        connection = self._connection(parts)
        try:
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", path, headers={"Authorization": call.header})
            with connection.getresponse() as answer:
                _check(url, answer)
                with target.open("wb") as out:
                    seal, digest = _save_sealed(answer, out)
        except (http.client.HTTPException, OSError) as error:
            raise Unavailable(
                f"'{url}' could not be read: {self._trust.why(error)}.", remedy="Check that the host answers."
            ) from error
        finally:
            connection.close()
        if not call.is_sealed_by(seal, digest):
            target.unlink()
            raise Unavailable(
                f"What '{url}' sent does not come whole from a process of this cluster.",
                remedy="Check what listens there.",
            )
        return target.stat().st_size

    def _connection(self, parts: SplitResult) -> http.client.HTTPConnection:
        host = parts.hostname or ""
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, parts.port, timeout=_SILENCE_S, context=self._trust.context)
        return http.client.HTTPConnection(host, parts.port, timeout=_SILENCE_S)


def check_is_file_of(url: str, table: str, segment: str) -> None:
    """InvalidInput unless this is the controller's path for the file of this segment of this table (raw or typed), and
    nothing else.
    """
    parts, names = urlsplit(url), {table, split_table_name(table)[0]}
    found = [unquote(part) for part in parts.path.split("/")]
    is_it = (
        parts.username is None and not parts.query and any(found == ["", "segments", name, segment] for name in names)
    )
    if not is_it:
        raise InvalidInput(
            f"'{url}' is an address of the controller, but not that of the file of segment '{segment}' of table "
            f"'{table}'.",
            remedy="Push the segment with the address of its own file.",
        )


def _check(url: str, answer: http.client.HTTPResponse) -> None:
    if answer.status == http.client.NOT_FOUND:
        raise NotFound(f"'{url}' does not exist.")
    if answer.status != http.client.OK:
        raise Unavailable(f"'{url}' answers {answer.status} instead of the segment.")
    if answer.headers.get(SEAL_HEADER) != str(SEAL_BYTES):
        raise Unavailable(
            f"'{url}' does not prove that it belongs to this cluster.", remedy="Check what listens there."
        )


def _save_sealed(answer: http.client.HTTPResponse, out: BinaryIO) -> tuple[bytes, bytes]:
    """Write the body but its last bytes; returns those (the signature) and the SHA-256 of what was written."""
    seen, held = hashlib.sha256(), b""
    while chunk := answer.read(_CHUNK):
        held += chunk
        piece, held = held[:-SEAL_BYTES], held[-SEAL_BYTES:]
        seen.update(piece)
        out.write(piece)
    return held, seen.digest()
