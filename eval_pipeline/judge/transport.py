"""An httpx transport that sends through aiohttp, whose connection pool costs least a call."""

from collections.abc import Mapping
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx

_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})
LARGEST_BODY = 4_000_000  # bytes; an answer has some hundred


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Sends whole requests and gives whole responses, over so many connections that are kept open.

    It has no time limit of its own and follows no redirect. Certificates are trusted as httpx trusts them, and a proxy
    of the environment is used, as it stands when the first request is sent. Errors are aiohttp's, and httpx's where a
    body is too large.
    """

    def __init__(self, *, connections: int) -> None:
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._proxy: str | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response, with its body read."""
        if self._session is None:
            self._session = self._connected()
            self._proxy = _proxy_of(request.url)
        async with self._session.request(
            request.method,
            str(request.url),
            headers=request.headers.multi_items(),
            data=request.content,
            allow_redirects=False,
            proxy=self._proxy,
        ) as response:
            body = await response.content.read(LARGEST_BODY + 1)
            while len(body) <= LARGEST_BODY and (more := await response.content.read(LARGEST_BODY + 1 - len(body))):
                body += more
            if len(body) > LARGEST_BODY:
                raise httpx.ReadError(f"a body of more than {LARGEST_BODY} bytes", request=request)
            return httpx.Response(response.status, headers=_plain(response.headers), content=body, request=request)

    async def aclose(self) -> None:
        """Closes the connections; the next request opens new ones."""
        if self._session:
            await self._session.close()
            self._session = None

    def _connected(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, ssl=httpx.create_ssl_context()),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(),
        )


def _plain(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The headers but that of an encoding which is no more."""
    return [(name, value) for name, value in headers.items() if name.lower() not in _OF_THE_WIRE]


def _proxy_of(url: httpx.URL) -> str | None:
    """The proxy that the environment names for this address; looked up once, since it costs more than a call."""
    proxies: Mapping[str, str] = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if proxy is None or proxy_bypass(url.netloc.decode()):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"  # as curl and httpx read it
