"""Tests of serve: what a browser shows, and what is refused."""

import http.client
import json
import shutil
import socket
import subprocess
import threading
from urllib.parse import urlencode

import pytest

import unmask
from conftest import invoke, tiny
from unmask.errors import DataError
from unmask.serve.pair import Scorer
from unmask.serve.site import LARGEST, Site, server

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
PAIR = {"stereotype": "The nurse said she was ill.", "antistereotype": "The nurse said he was ill."}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "mine <b>"
    results = unmask.run([tiny("bert")], ["aul"], ["bundled-pairs"], limit=8)
    unmask.save(results, folder)
    unmask.report(results, folder)
    made = Site(Scorer("bundled"), [folder, folder.parent])
    listening = server(made, 0)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield made, listening.server_address[1]
    listening.shutdown()
    listening.server_close()


def ask(port, method="GET", path="/", body=None, key="", **headers):
    path = f"{path}?key={key}" if key else path
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    text = json.dumps(body) if isinstance(body, dict) else body
    connection.request(method, path, text, named)
    reply = connection.getresponse()
    return reply.status, reply.read().decode(), reply.headers


def post(site, body, **headers):
    made, port = site
    own = {"Content_Type": "application/json", "X_Unmask": made.secret, **headers}
    status, text, _ = ask(port, "POST", "/pair", body, **own)
    return status, json.loads(text)


def test_a_pair_is_scored_as_run_scores_it(site):
    import pandas as pd

    status, answer = post(site, PAIR)
    assert status == 200
    assert [v["measure"] for v in answer["measures"]] == ["pll", "cps"]
    own = unmask.run(["bundled"], ["pll", "cps"], pd.DataFrame([PAIR]))
    for view, result in zip(answer["measures"], own, strict=True):
        scores = result.items.set_index("label").score
        assert view["scores"] == {k: pytest.approx(scores[k], abs=1e-3) for k in PAIR}
        for label, pieces in view["sentences"].items():
            assert "".join(p["text"] for p in pieces) == PAIR[label]
            asked = [p["logp"] for p in pieces if p["logp"] is not None]
            assert sum(asked) == pytest.approx(scores[label], abs=1e-2)


def test_a_causal_model_and_measures_of_ones_own():
    usual = Scorer(tiny("gpt2")).score(PAIR)
    assert [v["measure"] for v in usual["measures"]] == ["ll", "cps"]
    own = Scorer(tiny("bert"), ["aul"]).score(PAIR)
    assert [v["measure"] for v in own["measures"]] == ["aul"]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"stereotype": "a"}, "'antistereotype' is empty"),
        ({"stereotype": "a", "antistereotype": 3}, "'antistereotype' is empty"),
        ({"stereotype": "a", "antistereotype": "b" * 2001}, "2001 characters"),
        ({"stereotype": "a", "antistereotype": "a"}, "both sentences are the same"),
        ("{", "not JSON"),
        ("[1]", "not JSON"),
        ("[" * 5000, "not JSON"),
    ],
)
def test_a_wrong_pair_is_one_sentence(site, body, sentence):
    status, answer = post(site, body)
    assert (status, sentence in answer["error"]) == (400, True)


def test_hostile_text_is_text(site):
    for hostile in (
        "<script>alert(1)</script> he",
        "\x00\x1b[31m he",
        "\u202e he",
        "{{ 7 * 7 }} he",
    ):
        status, answer = post(site, {"stereotype": hostile, "antistereotype": "she"})
        assert status in (200, 400)
        assert answer


def test_others_are_refused(site):
    made, port = site
    here = f"http://127.0.0.1:{port}"
    assert post(site, PAIR, X_Unmask="wrong")[0] == 403
    assert post(site, PAIR, Origin="http://evil.example")[0] == 403
    assert post(site, PAIR, Host=f"evil.example:{port}")[0] == 403
    assert post(site, PAIR, Sec_Fetch_Site="cross-site")[0] == 403
    assert post(site, PAIR, Content_Type="text/plain")[0] == 415
    assert post(site, PAIR, Origin=here, Sec_Fetch_Site="same-origin")[0] == 200
    assert ask(port, Host="evil.example", key=made.secret)[0] == 403
    assert ask(port)[0] == ask(port, key="wrong")[0] == 403
    assert ask(port, "POST", "/pair", "x" * (LARGEST + 1), X_Unmask=made.secret)[0] == 413
    assert ask(port, "POST", "/pair", "x" * (LARGEST + 1))[0] == 403
    assert ask(port, "POST", "/other", "{}", X_Unmask=made.secret)[0] == 404
    for path in ("/results/1", "/results/../../etc/passwd", "/results/-1", "/etc/passwd"):
        assert ask(port, path=path, key=made.secret)[0] == 404
    assert ask(port, path="/results/" + "9" * 5000, key=made.secret)[0] == 404
    assert ask(port, "PUT", "/pair", "{}")[0] == 501


def test_it_listens_on_this_machine_alone(site):
    _, port = site
    with socket.socket() as other:
        other.settimeout(2)
        name = socket.gethostbyname(socket.gethostname())
        if not name.startswith("127."):
            assert other.connect_ex((name, port)) != 0


def test_results_are_listed_and_shown_in_a_sandbox(site):
    made, port = site
    status, text, headers = ask(port, key=made.secret)
    assert status == 200
    assert "mine &lt;b&gt;" in text
    assert "script-src 'nonce-" in headers["Content-Security-Policy"]
    status, page, headers = ask(port, path="/results/0", key=made.secret)
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("sandbox allow-scripts;")
    assert "<title>" in page


def dumped(address, folder):
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
    done = subprocess.run(
        [CHROMIUM, *options, "--virtual-time-budget=60000", "--dump-dom", address],
        capture_output=True, text=True, timeout=180, check=True,
    )  # fmt: skip
    return done.stdout


@browser
def test_in_a_browser_tokens_are_shaded_and_text_is_text(site, tmp_path):
    made, port = site
    post(site, PAIR)  # the model is loaded
    hostile = {
        "stereotype": "<img src=x onerror=document.title='hurt'> she ran.",
        "antistereotype": "He ran.",
    }
    text = dumped(
        f"http://127.0.0.1:{port}/?{urlencode({**PAIR, 'key': made.secret})}", tmp_path / "one"
    )
    assert text.count('class="asked"') > 10
    assert text.count('class="soft wins"') == 2
    assert "<h2>pll</h2>" in text
    text = dumped(
        f"http://127.0.0.1:{port}/?{urlencode({**hostile, 'key': made.secret})}", tmp_path / "two"
    )
    assert "<title>hurt</title>" not in text
    assert "&lt;img" in text


def test_a_link_out_of_its_folder_is_not_followed(tmp_path):
    (tmp_path / "results.json").write_text("{}")
    (tmp_path / "report.html").symlink_to("/etc/passwd")
    made = Site(Scorer("bundled"), [tmp_path])
    made.listen(1)
    assert made.get("/results/0", made.secret, {"Host": "127.0.0.1:1"}).status == 404


def test_wrong_use_of_the_command(tmp_path):
    assert invoke("serve", tmp_path / "none")[0] == 2
    assert invoke("serve", "-x", "weat")[0] == 2
    assert invoke("serve", "-m", "no/such/model")[0] == 2
    assert invoke("serve", "--port", "99999")[0] == 2
    assert invoke("serve", "-x", "cpss")[0] == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, _, said = invoke("serve", "--port", str(taken.getsockname()[1]))
    assert (status, "cannot be used" in said) == (2, True)
    with pytest.raises(DataError):
        Scorer("bundled").score({})
