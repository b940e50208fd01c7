#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every link within the built site leads to a file and an anchor in it; no page needs a network.

  check_links.py SITE        the last line counts"""

import html.parser
import pathlib
import sys
import urllib.parse

SITE = pathlib.Path(sys.argv[1])
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if found.get("id"):
            self.anchors.add(found["id"])
        if tag == "a" and found.get("name"):
            self.anchors.add(found["name"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in LOADED and found.get(LOADED[tag]):
            self.loaded.append(found[LOADED[tag]])


def read_pages():
    pages = {}
    for file in sorted(SITE.rglob("*.html")):
        page = Page()
        page.feed(file.read_text())
        pages[file.resolve()] = page
    return pages


def faults_of(file, page, pages):
    for link in page.loaded:
        if urllib.parse.urlsplit(link).netloc:
            yield f"loads {link} from a network"
    for link in page.links + page.loaded:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc or link.startswith("data:"):
            continue
        path = urllib.parse.unquote(parts.path)
        place = (file.parent / path).resolve() if path else file
        if not place.exists():
            yield f"{link}: no such file"
        elif parts.fragment and place in pages:
            if urllib.parse.unquote(parts.fragment) not in pages[place].anchors:
                yield f"{link}: no such place on the page"


def main():
    pages = read_pages()
    count, failed = 0, 0
    for file, page in pages.items():
        count += len(page.links) + len(page.loaded)
        for fault in faults_of(file, page, pages):
            failed += 1
            print(f"FAILED {file.relative_to(SITE.resolve())}: {fault}")
    if len(pages) < 50 or count < 1000:
        failed += 1
        print(f"FAILED {SITE}: {len(pages)} pages and {count} links are no site")
    print(f"{len(pages)} pages, {count} links")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
