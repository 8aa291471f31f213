"""The connections of a chat judge: how many, for how long, through which proxy, and to whom."""

import asyncio
import base64
import shutil
import ssl
import subprocess
import time
import zlib

import httpx
import pytest

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge import transport as transports
from eval_pipeline.judge.transport import AiohttpTransport
from eval_pipeline.records import NoLabel, Question

KEY = "sk-do-not-tell-0123456789"
QUESTION = Question("e1", "A premise.", "A hypothesis.")
ELSEWHERE = "http://judge.example/v1"  # no machine has that name
DEAD = "http://127.0.0.1:9"

pytestmark = pytest.mark.usefixtures("quick")


def test_connections_are_reused_and_closed(server, completion, chat_at):
    server.in_turn(completion("SUPPORTED", delay_s=0.005))
    judge = chat_at(server.url, in_flight=3)

    async def run():
        for _ in range(5):
            await asyncio.gather(*[judge.answer(QUESTION) for _ in range(3)])
        await judge.close()

    asyncio.run(run())
    assert len(server.requests) == 15
    assert server.connections == 3
    assert server.open_after(at_most_s=2) == 0


def test_no_more_connections_are_opened_than_may_be_in_flight(server, completion, chat_at):
    server.in_turn(completion("SUPPORTED", delay_s=0.005))
    judge = chat_at(server.url, in_flight=2)

    async def run():
        await asyncio.gather(*[judge.answer(QUESTION) for _ in range(10)])
        await judge.close()

    asyncio.run(run())
    assert server.connections == server.most_in_flight == 2


def test_a_judge_that_was_closed_can_be_asked_again(server, completion, chat_at, answers_of):
    server.in_turn(completion("SUPPORTED"))
    judge = chat_at(server.url)
    assert [answers_of(judge, QUESTION)[0].raw for _ in range(2)] == ["SUPPORTED"] * 2
    assert server.open_after(at_most_s=2) == 0


def test_closing_a_judge_that_was_never_asked_does_nothing(chat_at):
    asyncio.run(chat_at("http://127.0.0.1:9/v1").close())


def test_a_connection_that_the_server_gave_up_meanwhile_costs_one_more_attempt_at_most(
    server, reply, completion, chat_at, answers_of
):
    server.in_turn(completion("SUPPORTED", headers={"Connection": "close"}), completion("NOT_SUPPORTED"))
    answers = answers_of(chat_at(server.url), QUESTION, QUESTION)
    assert [answer.raw for answer in answers] == ["SUPPORTED", "NOT_SUPPORTED"]
    assert answers[1].attempts <= 2


class TestATransport:
    @staticmethod
    def request(server):
        return httpx.Request("POST", f"{server.url}/chat/completions", content=b"{}")

    def test_opens_no_more_connections_than_it_was_given(self, server, reply):
        server.in_turn(reply(delay_s=0.01))

        async def run():
            transport = AiohttpTransport(connections=2)
            await asyncio.gather(*[transport.handle_async_request(self.request(server)) for _ in range(10)])
            await transport.aclose()

        asyncio.run(run())
        assert len(server.requests) == 10
        assert server.connections == server.most_in_flight == 2

    def test_opens_none_before_the_first_request(self):
        transport = AiohttpTransport(connections=1)
        asyncio.run(transport.aclose())
        assert transport._session is None

    def test_closes_them_when_it_is_closed_and_not_when_it_is_forgotten(self, server, reply):
        server.in_turn(reply())

        async def run():
            transport = AiohttpTransport(connections=1)
            await transport.handle_async_request(self.request(server))
            session = transport._session
            await transport.aclose()
            return session.closed, server.open_after(at_most_s=2)

        assert asyncio.run(run()) == (True, 0)

    def test_gives_what_the_server_sent(self, server, reply):
        server.in_turn(reply(418, b"short and stout", {"X-Kind": "pot"}))

        async def run():
            transport = AiohttpTransport(connections=1)
            try:
                return await transport.handle_async_request(self.request(server))
            finally:
                await transport.aclose()

        response = asyncio.run(run())
        assert (response.status_code, response.text, response.headers["x-kind"]) == (418, "short and stout", "pot")


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [("deflate", zlib.compress), ("gzip", lambda body: zlib.compress(body, wbits=31)), ("identity", bytes)],
)
def test_an_answer_is_read_however_it_is_packed(server, reply, completion, chat_at, answers_of, encoding, encode):
    body = encode(completion("SUPPORTED").body)
    server.in_turn(reply(body=body, headers={"Content-Encoding": encoding}))
    assert answers_of(chat_at(server.url), QUESTION)[0].raw == "SUPPORTED"
    assert set(server.requests[0].headers["accept-encoding"].split(", ")) == {"gzip", "deflate"}


def test_an_answer_in_chunks_is_read(server, reply, completion, chat_at, answers_of):
    body = completion("SUPPORTED").body
    chunks = b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in body) + b"0\r\n\r\n"
    server.in_turn(reply(body=chunks, headers={"Transfer-Encoding": "chunked", "Content-Length": None}))
    assert answers_of(chat_at(server.url), QUESTION)[0].raw == "SUPPORTED"


def test_a_long_answer_is_read_whole(server, completion, chat_at, answers_of):
    server.in_turn(completion("x" * 3_000_000))
    assert len(answers_of(chat_at(server.url, attempts=1), QUESTION)[0].raw) == 3_000_000


def bomb(encoding, size):
    """So many bytes that are few when they are packed, however often."""
    return zlib.compress(b"x" * size, 9, wbits={"gzip": 31, "deflate": 15}[encoding])


class TestABodyThatIsTooLarge:
    LARGEST = 10_000

    @pytest.fixture(autouse=True)
    def largest(self, quick):
        quick.setattr(transports, "LARGEST_BODY", self.LARGEST)

    @pytest.mark.parametrize("status", [200, 400, 500])
    @pytest.mark.parametrize("encoding", ["gzip", "deflate"])
    def test_after_it_was_unpacked_is_a_fault(self, server, reply, chat_at, answers_of, encoding, status):
        """A thousandth of it is sent."""
        body = bomb(encoding, 20_000_000)
        assert len(body) < 30_000
        server.in_turn(reply(status, body, headers={"Content-Encoding": encoding}))
        began = time.monotonic()
        (answer,) = answers_of(chat_at(server.url, attempts=2), QUESTION)
        assert (answer.raw, answer.no_label, answer.attempts) == (None, NoLabel.FAILED, 2)
        assert time.monotonic() - began < 5

    def test_because_it_never_ends_is_a_fault_long_before_the_time_limit(self, server, reply, chat_at, answers_of):
        """It announces a body of any length, sends a little more than is read, and then nothing for ever."""
        endless = {"Content-Length": str(10**12)}
        server.in_turn(reply(body=b"x" * (self.LARGEST + 1), headers=endless))
        began = time.monotonic()
        (answer,) = answers_of(chat_at(server.url, attempts=2, attempt_timeout_s=20.0), QUESTION)
        assert (answer.no_label, answer.attempts) == (NoLabel.FAILED, 2)
        assert time.monotonic() - began < 5

    def test_by_one_byte_is_and_one_that_is_not_is_read(self, server, completion, chat_at, answers_of):
        around = len(completion("").body)
        server.in_turn(completion("x" * (self.LARGEST - around)), completion("x" * (self.LARGEST - around + 1)))
        read, lost = answers_of(chat_at(server.url, attempts=1), QUESTION, QUESTION)
        assert len(read.raw) == self.LARGEST - around
        assert lost.no_label is NoLabel.FAILED

    def test_does_no_harm_to_the_next(self, server, reply, completion, chat_at, answers_of):
        server.in_turn(reply(body=b"x" * 50_000), completion("SUPPORTED"))
        (answer,) = answers_of(chat_at(server.url), QUESTION)
        assert (answer.raw, answer.attempts) == ("SUPPORTED", 2)


@pytest.mark.parametrize("text", ["é “x” \u2028 😀", "\x00\x1f", "\\u0041"], ids=["letters", "controls", "escapes"])
def test_what_is_asked_arrives_as_it_stands(server, completion, chat_at, answers_of, text):
    server.in_turn(completion("SUPPORTED"))
    answers_of(chat_at(server.url, model=f"m {text}"), Question("e1", ("P.", text), text))
    (request,) = server.requests
    assert request.question == {"premise": ["P.", text], "hypothesis": text}
    assert request.body["model"] == f"m {text}"
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_key_goes_nowhere_but_where_it_was_meant_to(server, reply, chat_at, answers_of, status):
    """A redirect may lead anywhere, so that none is followed."""
    server.in_turn(reply(status, headers={"Location": server.url + "/chat/completions"}))
    with pytest.raises(JudgeDown, match=f"HTTP {status}"):
        answers_of(chat_at(server.url, api_key=KEY), QUESTION)
    assert len(server.requests) == 1


def test_a_cookie_is_not_sent_back(server, completion, chat_at, answers_of, monkeypatch):
    """Else an answer could depend on those before it. Cookies are of names, not of numbers, so a proxy gives it one."""
    monkeypatch.setenv("HTTP_PROXY", server.url)
    server.in_turn(completion("SUPPORTED", headers={"Set-Cookie": "session=1; Path=/"}))
    answers_of(chat_at(ELSEWHERE), QUESTION, QUESTION)
    assert [request.headers.get("cookie") for request in server.requests] == [None, None]


class TestAProxyOfTheEnvironment:
    """The server plays the proxy: what it is asked for is then a whole address."""

    @pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
    @pytest.mark.parametrize("written", ["http://{}", "{}", "http://{}/"], ids=["URL", "without http://", "with slash"])
    def test_is_used(self, server, completion, chat_at, answers_of, monkeypatch, variable, written):
        monkeypatch.setenv(variable, written.format(server.host))
        server.in_turn(completion("SUPPORTED"))
        (answer,) = answers_of(chat_at(ELSEWHERE, attempts=1), QUESTION)
        assert answer.raw == "SUPPORTED"
        assert [request.path for request in server.requests] == [f"{ELSEWHERE}/chat/completions"]
        assert server.requests[0].headers["host"] == "judge.example"

    def test_is_told_its_own_password_and_not_in_the_address(
        self, server, completion, chat_at, answers_of, monkeypatch
    ):
        monkeypatch.setenv("HTTP_PROXY", f"http://u:p@{server.host}")
        server.in_turn(completion("SUPPORTED"))
        answers_of(chat_at(ELSEWHERE), QUESTION)
        (request,) = server.requests
        assert request.headers["proxy-authorization"] == f"Basic {base64.b64encode(b'u:p').decode()}"
        assert request.path == f"{ELSEWHERE}/chat/completions"

    @pytest.mark.parametrize("exception", ["127.0.0.1", "*", "example.org, 127.0.0.1", "{}"])
    @pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
    def test_is_passed_by_where_the_environment_says_so(
        self, server, completion, chat_at, answers_of, monkeypatch, variable, exception
    ):
        monkeypatch.setenv("HTTP_PROXY", DEAD)
        monkeypatch.setenv(variable, exception.format(server.host))
        server.in_turn(completion("SUPPORTED"))
        assert answers_of(chat_at(server.url), QUESTION)[0].raw == "SUPPORTED"
        assert server.requests[0].path == "/v1/chat/completions"

    @pytest.mark.parametrize(
        "environment", [{"HTTPS_PROXY": DEAD}, {"HTTP_PROXY": ""}, {}], ids=["of https", "empty", "none"]
    )
    def test_that_is_not_for_this_address_is_not_used(
        self, server, completion, chat_at, answers_of, monkeypatch, environment
    ):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        server.in_turn(completion("SUPPORTED"))
        assert answers_of(chat_at(server.url), QUESTION)[0].raw == "SUPPORTED"

    @pytest.mark.parametrize("proxy", [DEAD, "http://127.0.0.1:port", "socks5://127.0.0.1:9"])
    def test_that_cannot_be_reached_is_a_fault_of_the_connection(self, server, chat_at, answers_of, monkeypatch, proxy):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        (answer,) = answers_of(chat_at(server.url), QUESTION)
        assert (answer.raw, answer.no_label, answer.attempts) == (None, NoLabel.FAILED, 3)
        assert server.requests == []


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate of 127.0.0.1 that it signed itself, and its key, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    key, own = folder / "key.pem", folder / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, "-keyout", key, "-out", own], check=True, capture_output=True)
    return own, key


@pytest.fixture
def behind_tls(tls_server, certificate, completion):
    """A chat endpoint behind TLS with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server = tls_server(context)
    server.in_turn(completion("SUPPORTED"))
    return server


def test_an_endpoint_whose_certificate_nobody_vouches_for_is_never_shown_the_key(behind_tls, chat_at, answers_of):
    (answer,) = answers_of(chat_at(behind_tls.url, api_key=KEY), QUESTION)
    assert (answer.raw, answer.no_label) == (None, NoLabel.FAILED)
    assert behind_tls.requests == []


def test_a_certificate_that_the_environment_vouches_for_is_trusted(
    behind_tls, chat_at, answers_of, certificate, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    (answer,) = answers_of(chat_at(behind_tls.url, api_key=KEY), QUESTION)
    assert answer.raw == "SUPPORTED"
    assert behind_tls.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_certificate_of_another_host_is_not_trusted(behind_tls, chat_at, answers_of, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    url = behind_tls.url.replace("127.0.0.1", "localhost")
    (answer,) = answers_of(chat_at(url, api_key=KEY), QUESTION)
    assert (answer.raw, answer.no_label) == (None, NoLabel.FAILED)
    assert behind_tls.requests == []
