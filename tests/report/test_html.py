"""The page as a file: complete in itself, and no name is markup in it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np

from driftsieve import report
from driftsieve._text import printable


class Page(HTMLParser):
    """Tags with their attributes, and the text of each script and style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] in ("script", "style") and data.strip():
            self.inside.append((*self.tags[-1], data))

    def texts(self, tag):
        return [data for name, _, data in self.inside if name == tag]


def test_page_loads_no_external_resources(drifting):
    text = report.to_html(drifting)
    page = Page(text)
    links = [a[key] for _, a in page.tags for key in ("src", "href") if key in a]
    assert links
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert not re.findall(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(", text)
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"]  # a name only


def test_policy_names_this_script_and_this_style(drifting):
    text = report.to_html(drifting)
    page = Page(text)
    policy = next(a["content"] for _, a in page.tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    data, script = page.texts("script")
    for content in (script, *page.texts("style")):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    json.loads(data)


def test_hostile_names_are_data_only(hostile):
    text = report.to_html(hostile)
    text.encode()  # a lone surrogate does not keep the page from being written
    page = Page(text)
    assert [a for tag, a in page.tags if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]
    embedded = json.loads(page.texts("script")[0])
    assert embedded["names"] == [printable(name) for name in hostile["names"]]
    assert {event["name"] for event in embedded["history"]["events"]} <= set(embedded["names"])
    assert embedded["title"] == hostile["title"]
    assert r"line\nbreak\ttab" in embedded["names"]
    raw = text[text.index('id="data">') + 10 : text.index("</script>", text.index('id="data">'))]
    assert raw.isascii()
    assert not set("<>&") & set(raw)


def test_packed_columns_decode_to_the_original(wide):
    embedded = json.loads(Page(report.to_html(wide)).texts("script")[0])

    def decode(packed):
        ((kind, text),) = packed.items()
        return np.frombuffer(base64.b64decode(text), "<" + kind)

    assert decode(embedded["features"]).tolist() == wide["features"]
    for key in wide["scores"]:
        assert decode(embedded["ranks"][key]).tolist() == wide["ranks"][key]
        np.testing.assert_allclose(decode(embedded["scores"][key]), wide["scores"][key], rtol=1e-7)
    p = np.array(wide["pvalues"]["chi2"])
    shown = decode(embedded["log10p"]["chi2"]).astype(float)
    assert (np.isneginf(shown) == (p == 0)).all()
    np.testing.assert_allclose(shown[p > 0], np.log10(p[p > 0]), rtol=1e-6, atol=1e-7)
    group, original = embedded["distributions"][0], wide["distributions"][0]
    np.testing.assert_array_equal(decode(group["edges"]), np.ravel(original["edges"]))
    np.testing.assert_array_equal(decode(group["weights"]), np.ravel(original["weights"]))
    assert len(decode(group["features"])) == 2000
