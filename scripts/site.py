#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation as a static site: scripts/site.py MAN_FOLDER OUTPUT_FOLDER

The pages are the tracked Markdown files and the built man pages. It asks no network, and the pages need none. Two runs over the same
files give equal bytes. It fails, and lists all faults, if a link of a page leads nowhere. It needs python3-markdown and mandoc.
"""

import html
import html.parser
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import markdown

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The pages at the top of each page: (title, page).
TOP = [
    ("Start", "index.html"),
    ("Tutorial", "docs/tutorial.html"),
    ("Documents", "docs/README.html"),
    ("Man pages", "man/index.html"),
    ("Limits", "docs/limits.html"),
    ("Changes", "CHANGELOG.html"),
]
# No script, no other site, and no form.
POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
MAN_NAME = re.compile(r"\b((?:assay|prospect|libassay)(?:-[a-z-]+)?)\(([13])\)")
CODE = re.compile(r"(<pre>.*?</pre>|<code>.*?</code>|<a .*?</a>|<[^>]*>)", re.S)


def sources():
    """The Markdown files of the site: {file, relative to the root: page}. docs/STATUS.md is for developers only."""
    files = [p for p in ROOT.glob("*.md")] + [p for p in (ROOT / "docs").rglob("*.md") if p.name != "STATUS.md"]
    names = sorted(str(p.relative_to(ROOT)) for p in files)
    return {name: "index.html" if name == "README.md" else name[:-3] + ".html" for name in names}


def slug(text, _separator):
    """The anchor of a heading, as forges make it."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def relative(target, page):
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def page_of(title, body, page):
    links = " ".join(
        f'<a href="{relative(target, page)}"{" aria-current=page" if target == page else ""}>{text}</a>' for text, target in TOP
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{html.escape(title)}</title>\n'
        f'<link rel="stylesheet" href="{relative("site.css", page)}">\n<nav aria-label="Site">{links}</nav>\n<main>\n{body}\n</main>\n</html>\n'
    )


class Links(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, _tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" and value:
                self.anchors.add(value)


class Site:
    def __init__(self, man, out):
        self.out = out
        self.pages = {}
        self.sources = sources()
        self.man = {(p.stem, p.suffix[1:]): p for p in sorted(man.iterdir()) if p.suffix in (".1", ".3") and p.stem != "scd"}

    def link_man_pages(self, text, page):
        """Names such as assay-record(1) become links, outside of code and of other links."""

        def link(match):
            name, section = match.groups()
            if (name, section) not in self.man:
                return match.group(0)
            return f'<a href="{relative(f"man/{name}.{section}.html", page)}">{match.group(0)}</a>'

        return "".join(piece if i % 2 else MAN_NAME.sub(link, piece) for i, piece in enumerate(CODE.split(text)))

    def add_document(self, name, page):
        text = (ROOT / name).read_text(encoding="utf-8")
        body = markdown.markdown(
            text, extensions=["tables", "toc", "sane_lists", "fenced_code"], extension_configs={"toc": {"slugify": slug}}, output_format="html"
        )

        def follow(match):
            target, mark, anchor = match.group(2).partition("#")
            if not target or ":" in target:
                return match.group(0)
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            where = self.sources.get(file, file)
            if where == file:
                self.copy(file)
            return f'{match.group(1)}="{relative(where, page)}{mark}{anchor}"'

        body = re.sub(r'\b(href|src)="([^"]*)"', follow, body)
        title = re.search(r"^# (.*)$", text, re.M)
        self.pages[page] = page_of(title.group(1).strip("`") if title else name, self.link_man_pages(body, page), page)

    def copy(self, file):
        """A file that a page links to: a picture, a licence, an example. Others stay in the source, and the check finds them."""
        source = ROOT / file
        if source.is_file():
            target = self.out / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def add_man_pages(self):
        rows = []
        for (name, section), file in self.man.items():
            page = f"man/{name}.{section}.html"
            made = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", file], capture_output=True, text=True, check=True).stdout
            made = re.sub(r' style="[^"]*"', "", made)  # the policy would refuse it
            self.pages[page] = page_of(f"{name}({section})", self.link_man_pages(made, page), page)
            summary = re.search(r'id="NAME".*?</h1>\s*<p[^>]*>(.*?)</p>', made, re.S)
            rows.append(f'<tr><td><a href="{name}.{section}.html">{name}({section})</a><td>{summary.group(1) if summary else ""}')
        self.pages["man/index.html"] = page_of("Man pages", "<h1>Man pages</h1>\n<table>" + "\n".join(rows) + "</table>", "man/index.html")

    def check(self):
        """The links that lead nowhere, a text each."""
        found = {page: Links(text) for page, text in self.pages.items()}
        faults = []
        for page, parsed in sorted(found.items()):
            for link in parsed.links:
                target, _, anchor = link.partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                where = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
                if where not in found and not (self.out / where).is_file():
                    faults.append(f"{page}: '{link}' leads nowhere")
                elif anchor and where in found and anchor not in found[where].anchors:
                    faults.append(f"{page}: '{where}' has no heading '#{anchor}'")
        return faults

    def write(self):
        shutil.copyfile(ROOT / "scripts" / "site.css", self.out / "site.css")
        for page, text in self.pages.items():
            target = self.out / page
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def main(man, out):
    site = Site(pathlib.Path(man), pathlib.Path(out))
    shutil.rmtree(site.out, ignore_errors=True)
    site.out.mkdir(parents=True)
    for name, page in site.sources.items():
        site.add_document(name, page)
    site.add_man_pages()
    site.write()
    faults = site.check()
    if faults:
        sys.exit("\n".join(faults))
    print(f"{out}/index.html: {len(site.pages)} pages")


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
