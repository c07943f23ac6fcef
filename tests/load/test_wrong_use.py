"""Wrong use of `ringside load`: each mistake gets one line that says what to do, and status 2."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

# The words after `ringside load`, and a part of the line.
MISTAKES = """
nonsense                                        :: has no scheme
http://h/ --duration soon                       :: '--duration': 'soon' is not a duration: write it as 10s
http://h/ --connections 0                       :: 0 is not in the range
http://h/ --connections 2000000                 :: are too many for one engine: up to 1,000,000
http://h/ --threads 3 --connections 2           :: --threads 3 is more than 2 connections: each thread needs
http://h/ --io select                           :: 'select' is not one of
http://h/ --cpus 9999                           :: CPU 9999 cannot be used
http://h/ --engines 2                           :: --engines is for --from: add --from, or
stream+http://h/ --from auto --due-field x      :: --due-field compares the server's clock
http://nobody.invalid/                          :: the host nobody.invalid has no address
http://h/ --seed 1                              :: --seed is for --poisson or --vs
http://h/ --staircase 1:1s --rate 1             :: --staircase and --rate exclude
http://h/ --poisson                             :: --poisson needs a schedule
http://h/ --burst 5 --rate 1 --poisson          :: leave one out
http://h/ --slack 1ms                           :: --slack needs a schedule: add --rate N
http://h/ --slack 1us --rate 5                  :: --slack is out of range: from 10us to 100ms, or 0
http://h/ --blocks 1                            :: --blocks is for --vs
http://h/ --margin 0                            :: --margin is for --vs
http://h/ http://h/b --vs http://h/c            :: --vs compares two targets
http://h/ --vs tcp://h:1                        :: like with like
http://h/ --vs http://h/ --staircase 1:1s       :: instead of --staircase
stream+http://h/ --vs stream+http://h/          :: by --interval or --due-field
http://h/ --vs http://h/ --hdr x                :: --vs and --hdr exclude each other
http://h/ --vs http://h/b --fail-if 'p99>1s'    :: with --vs worse:5%
http://h/ --fail-if worse:5%                    :: of one target write 'p99>200ms'
http://h/ -d 2s                                 :: '2s' is a time: --duration is how long
http://h/ -n 5                                  :: -n is another tool's: --requests N
http://h/ -z 5s                                 :: -z is another tool's: --duration 10s
http://h/ -k                                    :: -k is another tool's: --insecure
http://h/ -X PUT                                :: -X is another tool's: --method NAME
http://h/ -t 2                                  :: -t is another tool's: --threads N, --timeout 5s
http://h/ -R 100                                :: -R is another tool's: --rate N
http://h/ --warmup 2s                           :: --warmup is another tool's: a load before
http://h/ --conections 3                        :: Did you mean '--connections'?
http://h/ http://i/                             :: http://i/ is not on h: several targets share
http://h/ tcp://h:80                            :: several targets are for http://
http://h/ --hdr no/such/folder/x                :: cannot be written
http://h/ --json --csv                          :: --json and --csv exclude each other
http://h/ --json --time-unit us                 :: --json and --time-unit exclude each other
http://h/ --line x                              :: --line is not for an http target
tcp://h:1 --header A:b                          :: --header is not for a tcp target
tcp://h:1 --line $'a\\nb'                        :: --line is one line
stream+http://h/ --rate 5                       :: --ramp says how fast
stream+http://h/ --requests 5                   :: give --duration
stream+http://h/ --expect-body x                :: --first and --chunk
stream+http://h/ --line x                       :: --line is not for a stream
stream+http://h/ --interval 1s --due-field x    :: leave one out
ws://h/ --method GET                            :: --method is not for a WebSocket
stream+ws://h/ --framing line                   :: --framing is not for a stream of a WebSocket
http://h/ --cacert x                            :: --cacert is for TLS
https://h/ --cert x                             :: --cert is for --key
https://h/ --cacert none.pem                    :: --cacert none.pem cannot be read
https://h/ --cacert nothing.pem --insecure      :: --insecure and --cacert exclude
https://127.0.0.1:1/ --cacert nothing.pem       :: no certificate (PEM) in it
http://h/ --streams 2                           :: --streams is for HTTP/2
http://h/ --http2                               :: --http2 is for https://…: without TLS name the target as h2
h2://h/ --close                                 :: --close is for HTTP/1.1
h2://h/ -m 10000 --connections 1000             :: 10,000,000 streams are too many
http://h/ --unix x --connect-to h               :: leave one out
http://h/ --connect-to 'a b'                    :: is no address: write it as HOST or HOST:PORT
http://127.0.0.1:9/ -H Host:a -H host:b         :: a request has one Host
http://127.0.0.1:1/ --expect-pattern a[         :: --expect-pattern "a[": non-empty character
http://h/ --expect-pattern x --expect-body ''   :: --expect-pattern and --expect-body exclude
http://h/ --placeholders                        :: --placeholders is for --body
http://h/{usr} --values users.csv               :: {usr} in the path; did you mean {user}?
http://h/ --body {naem} --placeholders          :: no value for {naem} in --body; known: {n}, {id}. To send
http://h/ --values users.csv                    :: no column is used: write {user} in the request
http://h/ --values none.csv                     :: --values none.csv cannot be read
http://h/ --values empty.csv                    :: has no values
http://h/ --values names.csv                    :: the column `id` needs another name
http://h/{a} --values ragged.csv                :: line 3 has 1 values for 2 columns
http://h/{a} --values latin.csv                 :: is not UTF-8
http://h/{a} --values quote.csv                 :: line 2 is no CSV
http://h/ --header 'A: {a}' --values lines.csv  :: has a line break, which --header cannot
http://h/{a} --values lines.csv --literal       :: --literal and --values exclude each other
http://h/ --fail-if p99                         :: 'p99' is no condition: write it in quotes, like 'p99>200ms'
http://h/ --fail-if 'p99>>5ms'                  :: is no condition
http://h/ --fail-if 'rte<5'                     :: there is no figure `rte`; did you mean rate?
http://h/ --fail-if 'p99.999>5ms'               :: there is no figure `p99.999`; did you mean p99.99?
http://h/ --fail-if 'xyz>5'                     :: possible are p50, p90
http://h/ --fail-if '>5ms'                      :: there is no figure ``
http://h/ --fail-if 'p99>'                      :: has no number: write it like 'p99>200ms'
http://h/ --fail-if 'p99>200'                   :: has no unit: write it like 'p99>200ms'
http://h/ --fail-if 'rate<5ms'                  :: has the unit `ms`: write it like 'rate<1000'
http://h/ --fail-if 'errors>5ms'                :: has the unit `ms`: write it like 'errors>1%'
http://h/ --fail-if 'errors>101%'               :: is more than 100 %
"""
FILES = {
    "users.csv": b'user,"key"\nann,"1,5"\n',
    "empty.csv": b"a,b\n",
    "names.csv": b"a,id\n1,2\n",
    "ragged.csv": b"a,b\n1,2\n3\n",
    "quote.csv": b'a,b\n1,"2\n',
    "lines.csv": b'a\n"1\n2"\n',
    "latin.csv": b"a\n\xe9\n",
    "nothing.pem": b"no certificate\n",
}


@pytest.mark.parametrize("mistake", MISTAKES.strip().splitlines())
def test_wrong_use_gets_one_line_and_status_2(
    complaint: Callable[..., str], workplace: Path, mistake: str
) -> None:
    for name, content in FILES.items():
        (workplace / name).write_bytes(content)
    words, _, message = mistake.partition(" :: ")
    arguments = [word.replace("$a\\nb", "a\nb") for word in shlex.split(words)]
    assert message in complaint("load", *arguments)


def test_other_wrong_use(complaint: Callable[..., str]) -> None:
    assert "Missing argument 'TARGET…'" in complaint("load")
    assert "is too long for the path of a socket" in complaint("load", "http://h/", "--unix", "x" * 200)
    long = "x" * ((1 << 20) + 1)
    assert "--expect-contains is longer than 1 MiB" in complaint(
        "load", "http://h/", "--expect-contains", long
    )
